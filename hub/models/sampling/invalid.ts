import { HubError } from '#core';

/** An error that names the field, what is wrong with it, and what to send instead. */
export const invalid = (field: string, problem: string, remedy: string): HubError =>
  new HubError('HUB_REQUEST_INVALID', `sampling/createMessage: ${field} ${problem}: ${remedy}`);
