import { HubError, isCode, isObject, messageOf } from '#core';

/** An error as a message of a process: clones of errors lose their class. */
type ErrorMessage = {
  readonly message: string;
  readonly code?: string;
  readonly data?: HubError['data'];
};

export const toMessage = (error: unknown): ErrorMessage =>
  error instanceof HubError
    ? { message: error.message, code: error.code, data: error.data }
    : { message: messageOf(error) };

/** The error of a message. One without a code of the hub is a fault of the hub. */
export function toError(value: unknown): HubError {
  const { message, code, data } = isObject(value) ? value : {};
  return new HubError(
    isCode(code) ? code : 'HUB_INTERNAL',
    typeof message === 'string' ? message : 'the process failed',
    isObject(data) ? { data } : {},
  );
}
