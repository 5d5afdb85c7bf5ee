"""What a person does with the program from the first start on, step by step, each step seen on the screen."""
