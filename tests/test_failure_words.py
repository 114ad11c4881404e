"""What the errors of many servers name: the case, the account, a rate, a setting."""

import json

import pytest

from evalkit.endpoints import address_of
from evalkit.failure_words import is_about_case, names_endpoint, names_setting
from evalkit.masking import Mask
from evalkit.outcomes import read_outcome
from evalkit.records import Turn
from evalkit.replies import Failed
from evalkit.request_failures import Failure, refused, unanswered, within_ok


class Response:
    def __init__(self, status_code, content):
        self.status_code, self.headers = status_code, {}
        self.content = content if isinstance(content, bytes) else json.dumps(content).encode()


def openai(message, code=None, type="invalid_request_error", param=None):
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def google(code, status, message, *details):
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


def by_http(status, body):
    return refused(Response(status, body), "host", mask=Mask(), now=0.0)


AZURE_FILTER = openai(
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify "
    "your prompt and retry. To learn more about our content filtering policies please read our documentation: "
    "https://go.microsoft.com/fwlink/?linkid=2198766",
    "content_filter",
    param="prompt",
)
AZURE_FILTER["error"]["innererror"] = {"code": "ResponsibleAIPolicyViolation"}
MODERATED = [
    (400, AZURE_FILTER),
    (400, openai("It was blocked.", "content_filter")),
    (400, {"error": {"message": "No.", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
    (403, {"error": {"code": 403, "message": "google/x requires moderation. Your input was flagged for \"violence\""}}),
    (403, {"error": {"code": 403, "message": "No", "metadata": {"reasons": ["hate"], "flagged_input": "bad words"}}}),
    (400, openai("Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
         "invalid_prompt")),
    (400, openai("Your request was rejected as a result of our safety system.", "content_policy_violation")),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
         "message": "Output blocked by content filtering policy"}}),
    (400, openai("Content Exists Risk")),
    (400, openai("The request was rejected because it was considered high risk", "content_filter")),
    (400, openai("Input data may contain inappropriate content.", "data_inspection_failed")),
    (400, google(400, "INVALID_ARGUMENT", "The prompt was blocked", {"blockReason": "PROHIBITED_CONTENT"})),
    (400, {"message": "Violated guardrail policy", "guardrail": "pii"}),
    (422, openai("The input new_sensitive", "1026")),
    (400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
    (403, {"detail": "Request blocked by the security policy"}),
    (403, {"error": {"code": 403, "message": "x/y requires moderation on Z. Your input was flagged for \"hate\". "
                     "No credits were charged.", "metadata": {"reasons": ["hate"]}}}),
    (403, openai("Prompt rejected by the firewall", "policy_violation")),
    (424, {"error": [{"code": 2016, "message": "Prompt blocked due to security configurations"}], "success": False}),
    (400, openai("litellm.ContentPolicyViolationError: AzureException - The response was filtered", "400")),
]  # fmt: skip
TOO_LONG = [
    (400, openai("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
                 "context_length_exceeded", param="messages")),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
                                      "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size. try increasing it",
                     "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}),
    (400, google(400, "INVALID_ARGUMENT",
         "The input token count (1200000) exceeds the maximum number of tokens allowed")),
    (400, openai("Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760",
                 "string_above_max_length", param="messages[0].content")),
    (413, b"<html><center><h1>413 Request Entity Too Large</h1></center></html>"),
    (413, openai("Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000",
                 "rate_limit_exceeded", "tokens")),
    (429, openai("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.",
                 "rate_limit_exceeded", "tokens")),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000",
           "error_type": "validation"}),
    (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 3000"}),
    (400, {"object": "error", "message": "Requested token count exceeds the model's maximum context length of 4096",
           "type": "BadRequestError", "code": 400}),
    (400, openai("Range of input length should be [1, 129024]", "invalid_parameter_error")),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
                                      "message": "input length and `max_tokens` exceed context limit: 190 + 20"}}),
    (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    (400, {"message": "Input is too long for requested model."}),
    (500, {"error": "the prompt is too long for the context window"}),
    (413, openai("Request body too large for x model. Max size: 8000 tokens.", "tokens_limit_reached")),
]  # fmt: skip
UNREADABLE = [
    (400, openai("Failed to call a function. Please adjust your prompt.", "tool_use_failed")),
    (400, openai("Tool call validation failed: 'x' was not in request.tools", "tool_use_failed")),
    (400, openai("Failed to generate JSON. Please adjust your prompt.", "json_validate_failed")),
    (400, openai("Invalid image URL.", "invalid_image_url", param="messages[0].content[1]")),
    (400, openai("You uploaded an unsupported image.", "invalid_image_format")),
    (400, openai("Timeout while downloading https://x.example/y.png.")),
]  # fmt: skip


SAID_OF_A_CASE = """
Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE
Input was rejected by Llama Guard
The system detected potentially unsafe or sensitive content in input or generation
Violated OpenAI moderation policy
Prompt blocked due to security configurations
This prompt contains sensitive words that violate Google's Responsible AI practices
This request has been blocked by our content filters.
Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length
The input (9000 tokens) is longer than the model's context length (8192 tokens)
too many tokens: total number of tokens in the prompt cannot exceed 4081
Unable to submit request because the input token count is 2000000 but the model supports up to 1048576
Trying to keep the first 5000 tokens. However, the model is loaded with context length of only 4096 tokens
input is too large to process. increase the physical batch size
The decoder prompt (length 5000) is longer than the maximum model length of 4096
Your input exceeds the context window of this model. Please adjust your input and try again.
Your request exceeded model token limit: 8192
This model's maximum prompt length is 131072 but the request contains 200000 tokens.
Malformed input request: expected maxLength: 20000, actual: 30000, please reformat your input
Please reduce the length of the messages or completion.
context window exceeds limit
""".strip().splitlines()
SAID_OF_A_SETTING = """
temperature: Input should be less than or equal to 2
Invalid value for 'temperature': must be at most 2
Number of tools exceeds the limit of 128 tools
max_tokens must be less than or equal to 4096
Invalid max_tokens value, the valid range of max_tokens is [1, 8192]
Invalid 'metadata': string too long
messages: at least one message is required
this model does not support tools
Unrecognized request argument supplied: seed
The parameter top_k is not permitted
Only the default value of 1 is allowed for n
""".strip().splitlines()


def test_prose_alone_tells_a_case_from_a_setting():
    assert [words for words in SAID_OF_A_CASE if not is_about_case(by_http(400, openai(words)).error)] == []
    assert [words for words in SAID_OF_A_SETTING if is_about_case(by_http(400, openai(words)).error)] == []


@pytest.mark.parametrize(("status", "body"), [*MODERATED, *TOO_LONG, *UNREADABLE])
def test_a_refusal_of_one_text_is_that_cases_error(status, body):
    failure = by_http(status, body)
    assert (failure.kind, failure.retry) == ("bad_request", False)
    assert is_about_case(failure.error)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, openai("Unsupported parameter: 'temperature' is not supported with this model.", param="temperature"),
             "bad_request"),
        (400, openai("max_tokens is too large: 100000. This model supports at most 16384 completion tokens"),
             "bad_request"),
        (400,
             openai("'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context "
                     "length is 4096 tokens and your request has 20 input tokens"), "bad_request"),
        (400, openai("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"), "bad_request"),
        (400, openai("Invalid 'tools[0].function.description': string too long. Expected maximum length 1024",
                     "string_above_max_length", param="tools[0].function.description"), "bad_request"),
        (400, openai("Invalid 'tools': array too long. Expected maximum length 128", "array_above_max_length"),
             "bad_request"),
        (400, openai("Invalid schema for function 'read_file'", "invalid_function_parameters"), "bad_request"),
        (404, openai("The model `x` does not exist", "model_not_found"), "bad_request"),
        (422, {"detail": [{"loc": ["body", "n"], "msg": "too big", "input": "my prompt is too long and flagged"}]},
             "bad_request"),
        (403, openai("Country, region, or territory not supported", "unsupported_country_region_territory"), "auth"),
        (403, google(403, "PERMISSION_DENIED", "Permission denied on resource"), "auth"),
        (403, b"<html><title>Attention</title>you have been blocked by our security filter</html>", "auth"),
        (503, b"<html>request blocked by filter: too large</html>", "server"),
        (401, openai("Your account was disabled for violating our usage policies", "account_deactivated"), "auth"),
        (503, {"error": {"message": "maximum queue size exceeded"}}, "server"),
        (429, openai("Too many tokens, please wait before trying again."), "rate_limit"),
    ],
)  # fmt: skip
def test_other_refusals_are_not_about_the_case(status, body, kind):
    failure = by_http(status, body)
    assert (failure.kind, kind == "bad_request" and is_about_case(failure.error)) == (kind, False)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, openai("You exceeded your current quota, please check your plan and billing details.",
             "insufficient_quota"), "quota"),
        (402, openai("Insufficient Balance", "invalid_request_error"), "quota"),
        (429, openai("Your account org-1 is suspended, please check your plan", type="exceeded_current_quota_error"),
             "quota"),
        (400, {"error": {"type": "invalid_request_error",
                         "message": "Your credit balance is too low to access the Anthropic API."}}, "quota"),
        (429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, "
             "please check your plan and billing details.",
                     {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}), "quota"),
        (429, openai("Rate limit reached for model `x` on tokens per day (TPD): Limit 100000, Used 99999"), "quota"),
        (429, {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day. Add 10 credits"}}, "quota"),
        (402, {"error": {"code": 402, "message": "This request requires more credits, or fewer max_tokens."}}, "quota"),
        (403, {"error": {"code": 403, "message": "Key limit exceeded (daily limit)."}}, "quota"),
        (400, openai("Budget has been exceeded! Current cost: 2, Max budget: 1", "400", "budget_exceeded"), "quota"),
        (429, {"error": {"code": "1113", "message": "您的账户已欠费,请充值后重试"}}, "quota"),
        (400, openai("Access denied, please make sure your account is in good standing.", "Arrearage"), "quota"),
        (403, {"error": "Your team has either used all available credits or reached its monthly spending limit"},
             "quota"),
        (402, {"error": "You have exceeded your monthly included credits for Inference Providers."}, "quota"),
        (401, {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}, "quota"),
        (429, openai("Rate limit reached for gpt-4o in organization o on requests per min (RPM): Limit 3, Used 3. "
                     "Add a payment method at https://platform.openai.com/account/billing."), "rate_limit"),
        (429, openai("Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000, Used 5000"),
             "rate_limit"),
        (429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, "
             "please check your plan and billing details.",
                     {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}), "rate_limit"),
        (429, google(429, "RESOURCE_EXHAUSTED",
             "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests"),
         "rate_limit"),
        (429, {"error": {"code": "429", "message": "Requests have exceeded token rate limit of your current OpenAI S0 "
                         "pricing tier. Please retry after 10 seconds."}}, "rate_limit"),
        (429, {"type": "error", "error": {"type": "rate_limit_error",
             "message": "Number of request tokens has exceeded "
                                          "your per-minute rate limit"}}, "rate_limit"),
        (429, {"message": "Requests rate limit exceeded"}, "rate_limit"),
        (400, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), "auth"),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "server"),
        (498, openai("Flex tier capacity exceeded", "capacity_exceeded"), "server"),
        (499, google(499, "CANCELLED", "The operation was cancelled."), "server"),
        (425, openai("Too early"), "server"),
        (500, openai("The model produced invalid content. Consider modifying your prompt.", type="model_error"),
             "server"),
        (402, openai("No credits left."), "quota"),
        (522, b"<!DOCTYPE html><html><title>x | 522: Connection timed out</title></html>", "server"),
    ],
)  # fmt: skip
def test_quota_rate_and_key_are_told_apart(status, body, kind):
    failure = by_http(status, body)
    assert (failure.kind, failure.retry) == (kind, kind in ("rate_limit", "server"))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "slow down"}, "rate_limit"),
        ({"code": "429", "message": "slow down"}, "rate_limit"),
        ({"code": "rate_limit_exceeded", "message": "slow down"}, "rate_limit"),
        ({"status": "RESOURCE_EXHAUSTED"}, "rate_limit"),
        ({"type": "overloaded_error", "message": "Overloaded"}, "server"),
        ({"status": "UNAVAILABLE", "message": "The model is overloaded"}, "server"),
        ({"code": 502, "message": "Bad gateway"}, "server"),
        ({"code": "upstream_error"}, "server"),
        ({"code": 524}, "server"),
        ({"code": 408, "message": "took too long"}, "timeout"),
        ("504 Gateway Timeout", "server"),
        ("Request timed out", "timeout"),
        ({"code": "insufficient_quota"}, "quota"),
        ({"code": 402, "message": "Insufficient credits"}, "quota"),
        ({"code": "context_length_exceeded", "message": "too long"}, "bad_request"),
        ({"code": "content_filter", "message": "filtered"}, "bad_request"),
        ({"code": "invalid_image_url", "message": "no"}, "bad_request"),
        (
            {"code": 403, "message": "Input flagged", "metadata": {"reasons": ["x"], "flagged_input": "y"}},
            "bad_request",
        ),
        ({"code": "invalid_api_key"}, "auth"),
        ({"type": "authentication_error", "message": "invalid x-api-key"}, "auth"),
        ({"detail": "Not authenticated"}, "auth"),
        ({"message": "No API key found in request"}, "auth"),
        ({"code": 11200, "message": "AppIdNoAuthError:(x)"}, "auth"),
        ({"status_code": 1004, "status_msg": "login fail: Please carry the API secret key"}, "auth"),
        ({"error_code": 110, "error_msg": "Access token invalid or no longer valid"}, "auth"),
        ({"error_code": 18, "error_msg": "Open api qps request limit reached"}, "rate_limit"),
        ({"code": "1302", "message": "您的账户已达到速率限制"}, "rate_limit"),
        ({"errors": [{"code": 3040, "message": "AiError: Capacity temporarily exceeded"}]}, "server"),
        ({"ErrorMsg": {"Msg": "model busy", "Code": 4001}}, "server"),
        ({"code": 10013, "message": "input contains sensitive words"}, "bad_request"),
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "bad_request"),
        ({"code": 400, "message": "bad"}, "bad_request"),
        ({"error": {"code": 503, "message": "no"}}, "server"),
        ({"message": "Provider returned error", "code": 500}, "server"),
        ({"finish_reason": "error"}, "server"),
        ({"finish_reason": "network_error"}, "server"),
        ({"finish_reason": "MALFORMED_FUNCTION_CALL"}, "server"),
        ({"message": "it did not work"}, "bad_response"),
        ("boom", "bad_response"),
        (True, "bad_response"),
        ([], "bad_response"),
        ({"code": 7}, "bad_response"),
    ],
)
def test_an_error_inside_an_answer_is_what_its_own_code_says(error, kind):
    failure = within_ok(error, "host", mask=Mask())
    assert (failure.kind, failure.retry) == (kind, kind in ("rate_limit", "server", "timeout"))
    assert failure.error.startswith("HTTP 200 from host, but the body holds an error")
    assert unanswered(error, "host", mask=Mask())[0] == ("server" if kind == "bad_response" else kind)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, openai("No.", "unsupported_value", param="temperature"),
             "No. (param: temperature; code: unsupported_value)"),
        (400, openai("'temperature' is unsupported_value.", "unsupported_value", param="temperature"),
         "'temperature' is unsupported_value."),
        (422, {"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "Field required", "type": "missing"}]},
         "messages.0.content: Field required."),
        (422, {"detail": [{"loc": ["body"], "msg": "no"}, {"msg": "never"}]}, "no; never."),
        (422, {"message": {"detail": [{"loc": ["body", "tools", 0, "function", "strict"], "msg": "extra fields"}]}},
         "tools.0.function.strict: extra fields."),
        (400, google(400, "INVALID_ARGUMENT", "Request contains an invalid argument.",
                     {"fieldViolations": [{"field": "contents[0].role", "description": "no such role"}]}),
         "Request contains an invalid argument.; contents[0].role: no such role."),
        (400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {
            "raw": '{"error":{"message":"seed is not supported"}}', "provider_name": "Azure"}}},
         "Provider returned error; Azure: seed is not supported."),
        (500, openai('litellm.BadRequestError: OpenAIException - {"error": {"message": "no such tool", "code": 1}}'),
         "litellm.BadRequestError: OpenAIException - no such tool."),
        (400, openai('{"error":{"message":"inner"}}'), "host: inner."),
        (400, openai("Expected {\"a\": 1} here"), 'Expected {"a": 1} here.'),
        (400, {"error": {"code": "bad_thing"}}, "bad_thing."),
        (400, {"errors": [{"message": "one"}, {"message": "two"}]}, "one; two."),
        (422, {"error": {"name": "ZodError", "message": '[\n {"path": ["tools", 0], "message": "Required"}\n]'}},
         "tools.0: Required."),
        (422, {"errors": {"tools.0.name": ["is required", "is blank"]}}, "tools.0.name: is required; is blank."),
        (400, {"title": "One or more validation errors occurred.", "status": 400, "errors": {"$.seed": ["no number"]}},
         "One or more validation errors occurred.; $.seed: no number."),
        (400, {"message": "validation error", "errors": [{"field": "tools[0].name", "reason": "required"}]},
         "validation error; tools[0].name: required."),
        (400, {"message": "Bad request", "errors": [{"instancePath": "/tools/0/name", "message": "must be string"}]},
         "Bad request; /tools/0/name: must be string."),
        (500, {"error": "Internal Server Error", "path": "/v1/chat/completions"}, "host: Internal Server Error."),
    ],
)  # fmt: skip
def test_the_message_holds_what_the_server_names(status, body, words):
    assert by_http(status, body).error.endswith(words)


@pytest.mark.parametrize(
    ("error", "names"),
    [
        ("HTTP 400: Unsupported parameter: 'temperature' is not supported with this model.", ["temperature"]),
        ("HTTP 400: this model does not support reasoning effort (param: reasoning_effort)", ["reasoning_effort"]),
        ("HTTP 400: seed is not supported", ["seed"]),
        ("HTTP 400: the seeds of doubt", []),
        ("HTTP 404: The model `gpt-9` does not exist or you do not have access to it.", ["model"]),
        ("HTTP 404: model 'llama9' not found", ["model"]),
        ('HTTP 404: model "llama9" not found, try pulling it first', ["model"]),
        ("HTTP 400: Unknown model: x", ["model"]),
        ("HTTP 400: x is not a valid model ID", ["model"]),
        ("HTTP 404: No endpoints found for x/y.", ["model"]),
        ("HTTP 404: The API deployment for this resource does not exist.", ["model"]),
        ("HTTP 400: The model could not read your text", []),
        ("HTTP 400: bad", []),
    ],
)
def test_a_setting_is_recognised_by_its_name(error, names):
    assert names_setting(error, ["model", "seed"]) == names


def test_an_address_where_nothing_is_is_told_from_a_refused_request():
    assert [names_endpoint(f"HTTP {status} from x.") for status in (301, 404, 405, 400, 500)] == [True] * 3 + [
        False
    ] * 2


@pytest.mark.parametrize(
    ("nest", "levels"),
    [(lambda one: {"error": one}, 400), (lambda one: [one], 400), (lambda one: {"error": json.dumps(one)}, 12)],
)
def test_an_error_of_any_depth_is_told(nest, levels):
    error = {"code": 429, "message": "slow down"}
    for _ in range(levels):
        error = nest(error)
    assert within_ok(error, "host", mask=Mask()).kind == "bad_response"
    assert by_http(429, error).kind == "rate_limit"


def test_only_the_beginning_of_a_long_error_is_read():
    assert by_http(400, openai("exceed" * 1_000_000)).error.startswith("HTTP 400 from host: exceedexceed")


def test_a_reply_that_failed_is_a_failure_and_an_answer_stays_one():
    address, turn = address_of("http://host/v1"), Turn(answer="Hi")
    failure = read_outcome(Failed({"code": 502, "message": "no"}, "the provider gave up"), address, Mask())
    assert failure == Failure("server", "HTTP 200 from host, but the provider gave up: no.", retry=True)
    assert read_outcome(turn, address, Mask()) is turn
