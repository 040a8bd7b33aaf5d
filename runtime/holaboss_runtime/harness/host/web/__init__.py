"""What tools ask of the web: searches, downloads, pictures. What comes back is data of strangers, and bounded."""
