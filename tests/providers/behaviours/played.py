"""What a model answers, as the doubles of some providers play it."""

from tests.providers import double_outputs
from tests.providers.behaviours.script import Call, Output, Text, Thought


def played(output: Output) -> double_outputs.Output:
    match output:
        case Thought(text):
            return double_outputs.Thought(text)
        case Text(text):
            return double_outputs.Text(text)
        case Call(name, arguments):
            return double_outputs.Call(name, arguments or "{}")
    return output
