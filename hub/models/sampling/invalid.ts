import { HubError } from '#core';

/** Returns an error that names the field, the problem, and a valid value. */
export const invalid = (field: string, problem: string, remedy: string): HubError =>
  new HubError('HUB_REQUEST_INVALID', `sampling/createMessage: ${field} ${problem}: ${remedy}`);
