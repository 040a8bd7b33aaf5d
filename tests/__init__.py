"""The tests mirror the source; `support` holds the parts that several of them share."""
