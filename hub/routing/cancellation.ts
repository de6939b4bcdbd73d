import { HubError } from '#core';
import type { Relayed } from '#upstream';

/** Work that can be cancelled. */
export type Cancellable = Pick<Relayed<unknown>, 'cancel'>;

/** The cancellation state of a request, and the work to cancel. Only this file writes to it. */
export type Cancellation = {
  /** The work in progress for the request. */
  work: Cancellable | undefined;
  isCancelled: boolean;
};

export const createCancellation = (): Cancellation => ({ work: undefined, isCancelled: false });

/** Sets the work to cancel if the client cancels the request; undefined if nothing can be cancelled. */
export function setWork(cancellation: Cancellation, work: Cancellable | undefined): void {
  cancellation.work = work;
}

/** Cancels the request, now or as soon as it is about to be sent. */
export function cancelCall(cancellation: Cancellation, reason: string | undefined): void {
  cancellation.isCancelled = true;
  cancellation.work?.cancel(reason);
}

/** Throws HUB_CALL_CANCELLED if the client cancelled the request. Call it after each wait. */
export function throwIfCancelled({
  cancellation,
  request,
}: {
  readonly cancellation: Cancellation;
  readonly request: { readonly method: string };
}): void {
  if (cancellation.isCancelled)
    throw new HubError('HUB_CALL_CANCELLED', `the client cancelled ${request.method}`);
}
