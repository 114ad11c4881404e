"""What a judge is told and what it says back, for tests."""

from loopback_replies import calls, says

FRAME = "You judge answers."


def is_for_judge(request):
    return str(request.messages[0].get("content", "")).startswith(FRAME)


def quoted_text(request, name):
    """The text of that name (input, answer, expected), as the judge was shown it: by the line above its quotation."""
    user = next(message["content"] for message in request.messages if message["role"] == "user")
    found, above = {}, ""
    for line in user.split("\n"):
        if line.startswith("> "):
            found.setdefault(_named(above), []).append(line.removeprefix("> "))
        else:
            above = line
    return "\n".join(found[name])


def _named(above):
    if "answer to judge" in above:
        return "answer"
    return "expected" if "expert" in above or "known to be good" in above else "input"


def as_asked(request, choice, reason="It is so."):
    """A verdict in the form that was asked for."""
    if "response_format" in request.body or "text" in request.body:
        return says(f'{{"reason": "{reason}", "choice": "{choice}"}}')
    if request.tools:
        return calls((request.tools[0], {"reason": reason, "choice": choice}))
    return says(f"{reason}\nChoice: {choice}")
