import { type Code, HubError } from '#core';

/** Errors of the hub by what they mean for a task. Any other one means that the config names the wrong thing. */
const meanings: { readonly [code: string]: Code } = {
  HUB_CALL_TIMEOUT: 'HUB_MODEL_CALL_TIMEOUT',
  HUB_SERVER_DOWN: 'HUB_MODEL_CALL_CRASHED',
  // Nothing can be called for now, whatever is asked.
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
  // The following errors keep their codes.
  HUB_AUDIT_UNAVAILABLE: 'HUB_AUDIT_UNAVAILABLE',
  HUB_CALL_CANCELLED: 'HUB_CALL_CANCELLED',
  HUB_MODEL_CALL_PROTOCOL: 'HUB_MODEL_CALL_PROTOCOL',
  HUB_MODEL_CALL_TIMEOUT: 'HUB_MODEL_CALL_TIMEOUT',
  HUB_POLICY_DENIED: 'HUB_POLICY_DENIED',
};

/** The error of a call that failed in the router, or because its server did not start. */
export function callErrorOf(error: unknown, server: string): unknown {
  if (!(error instanceof HubError)) return error;
  // An error that came as an answer has its code in the data.
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
