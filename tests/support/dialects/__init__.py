"""Wire dialects of model providers that the product's own demo does not speak."""
