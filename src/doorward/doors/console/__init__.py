"""The console: a page in the browser that speaks to the REST door, and what lets a browser in."""
