import { HubError, isCode, isObject, messageOf } from '#core';

/** An error as a message between processes: a cloned error loses its class. */
type ErrorMessage = {
  readonly message: string;
  readonly code?: string;
  readonly data?: HubError['data'];
};

export const toMessage = (error: unknown): ErrorMessage =>
  error instanceof HubError
    ? { message: error.message, code: error.code, data: error.data }
    : { message: messageOf(error) };

/** Converts a message to an error. A message without an error code of the hub becomes HUB_INTERNAL. */
export function toError(value: unknown): HubError {
  const { message, code, data } = isObject(value) ? value : {};
  return new HubError(
    isCode(code) ? code : 'HUB_INTERNAL',
    typeof message === 'string' ? message : 'the process failed',
    isObject(data) ? { data } : {},
  );
}
