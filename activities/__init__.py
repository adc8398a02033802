"""Side effects. Each activity may run twice, and says what happens then."""
