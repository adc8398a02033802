"""What touches the world; each activity may run twice, and says what happens then."""
