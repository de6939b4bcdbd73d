import { type Code, HubError } from '#core';

/** Error codes of the hub, mapped to their codes for a task. All others mean that the config names a wrong server. */
const meanings: { readonly [code: string]: Code } = {
  HUB_CALL_TIMEOUT: 'HUB_MODEL_CALL_TIMEOUT',
  HUB_SERVER_DOWN: 'HUB_MODEL_CALL_CRASHED',
  // Errors that affect every call for now, whatever the prompt.
  HUB_BREAKER_OPEN: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_ENGINE_REFUSED: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_ENGINE_UNREACHABLE: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_IMAGE_BUILD_FAILED: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_IMAGE_MISSING: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_LIMIT_REACHED: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_REGISTRY_UNREACHABLE: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_REMOTE_UNREACHABLE: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_SERVER_BUSY: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_SERVER_FAILED: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_SERVER_START_FAILED: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_SERVER_STOPPED: 'HUB_OLLAMA_UNAVAILABLE',
  HUB_SHUTTING_DOWN: 'HUB_OLLAMA_UNAVAILABLE',
  // Errors that keep their codes.
  HUB_AUDIT_UNAVAILABLE: 'HUB_AUDIT_UNAVAILABLE',
  HUB_CALL_CANCELLED: 'HUB_CALL_CANCELLED',
  HUB_MODEL_CALL_PROTOCOL: 'HUB_MODEL_CALL_PROTOCOL',
  HUB_MODEL_CALL_TIMEOUT: 'HUB_MODEL_CALL_TIMEOUT',
  HUB_POLICY_DENIED: 'HUB_POLICY_DENIED',
};

/** Converts the error of a call that failed in the router, or because its server did not start. */
export function callErrorOf(error: unknown, server: string): unknown {
  if (!(error instanceof HubError)) return error;
  // An error response of the server has its code in the data.
  const told = error.code === 'HUB_SERVER_PROTOCOL' ? error.data['code'] : error.code;
  const code = meanings[String(told)] ?? 'HUB_MODEL_CALL_PROTOCOL';
  if (code === error.code) return error;
  return new HubError(code, textOf(code, error.message, server), {
    cause: error,
    data: { server, ...error.data },
  });
}

function textOf(code: Code, message: string, server: string): string {
  if (code === 'HUB_MODEL_CALL_CRASHED')
    return `${server} ended while it worked on the call: ${message}. See "agenthub logs ${server}"`;
  if (code === 'HUB_OLLAMA_UNAVAILABLE') return `${server} cannot be called: ${message}`;
  return code === 'HUB_MODEL_CALL_PROTOCOL' ? `${server} gave no result: ${message}` : message;
}
