import { DeadlineExceeded, HubError, messageOf } from '#core';

/** HTTP statuses of malformed or forbidden requests: a retry would be refused again. */
const lasting: readonly number[] = [400, 403];
/** HTTP status with which the broker, or a proxy such as that of Docker Desktop, reports that the engine is away. */
const badGateway = 502;

export class EngineError extends HubError {
  readonly status: number;
  /** The engine's own message, without the prefix of dockerode. */
  readonly words: string;

  constructor(status: number, words: string, doing: string, cause: unknown) {
    super('HUB_ENGINE_REFUSED', `the Docker engine refused to ${doing}: ${words}`, {
      cause,
      ...(lasting.includes(status) && { data: { retryable: false } }),
    });
    this.status = status;
    this.words = words;
  }
}

export const isRefusal = (error: unknown, status: number): error is EngineError =>
  error instanceof EngineError && error.status === status;

/** True if the engine did not answer: the call may have succeeded. */
export const isUnheard = (error: unknown): error is HubError =>
  error instanceof HubError && error.code === 'HUB_ENGINE_UNREACHABLE';

/** Converts an error of dockerode to a HubError. `doing` is the attempted action, such as "start the container". */
export function toHubError(error: unknown, doing: string, address: string): HubError {
  if (error instanceof HubError) return error;
  const text = messageOf(error);
  const refusal = /^\(HTTP code (\d+)\) .*? - (.*)$/s.exec(text);
  const [status, words] = [Number(refusal?.[1]), refusal?.[2]?.trim() ?? ''];
  if (refusal && status !== badGateway) return new EngineError(status, words, doing, error);
  if (error instanceof DOMException && error.name === 'AbortError')
    return new HubError('HUB_CALL_CANCELLED', `cancelled: ${doing}`, { cause: error });
  const why = refusal ? `${words}. ${check}` : remedyOf(error, text);
  const problem = `no Docker engine answers at ${address}: ${why}`;
  return new HubError('HUB_ENGINE_UNREACHABLE', problem, {
    cause: error,
    data: { retryable: true },
  });
}

const remedies: readonly (readonly [code: string, remedy: string])[] = [
  ['ENOENT', 'there is no such socket. Start Docker, or set DOCKER_HOST to where it listens'],
  ['ECONNREFUSED', 'nothing listens there. Start Docker, or set DOCKER_HOST to where it listens'],
  ['EACCES', 'this user may not open the socket. Add the user to the group that owns it (docker)'],
  ['ENOTFOUND', 'the host name is unknown. Check DOCKER_HOST'],
];

function remedyOf(error: unknown, text: string): string {
  if (error instanceof DeadlineExceeded)
    return `${text}. Check that Docker is not hanging (docker info)`;
  const known = remedies.find(([code]) => text.includes(code));
  return known ? `${known[1]} (${known[0]})` : `${text}. ${check}`;
}

const check = 'Check that Docker runs (docker info)';
