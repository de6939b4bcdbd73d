/** A signal that is never aborted. */
export const never = new AbortController().signal;
