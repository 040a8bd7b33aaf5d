"""How the application looks: tokens, palettes made of them, one style sheet, icons. No colour elsewhere."""
