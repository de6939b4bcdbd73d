import type { Request } from '#jsonrpc';
import { remembered } from './session.ts';

/** Maximum number of unanswered requests of a client. */
const maxPending = 10_000;

const listen = 'subscriptions/listen';

/** The client's unanswered requests, by the client's id as JSON text. */
export function createPendingRequests() {
  /** The value is the request if the bridge needs it again. */
  const pending = new Map<string, Request | undefined>();
  const isListen = (request: Request | undefined) => request?.method === listen;

  return {
    get size(): number {
      return pending.size;
    },
    get isFull(): boolean {
      return pending.size >= maxPending;
    },
    get isBusy(): boolean {
      return [...pending.values()].some(request => !isListen(request));
    },
    add(id: string, request: Request): void {
      pending.set(id, remembered.has(request.method) || isListen(request) ? request : undefined);
    },
    /** The request if its effect is remembered. */
    find: (id: string): Request | undefined => pending.get(id),
    /** The request if it is a listen request, which the next hub gets if this one goes away. */
    findListen(id: string): Request | undefined {
      const request = pending.get(id);
      return isListen(request) ? request : undefined;
    },
    listens: (): readonly Request[] =>
      [...pending.values()].flatMap(request => (request && isListen(request) ? [request] : [])),
    /** Returns false if no such request is pending. */
    delete: (id: string): boolean => pending.delete(id),
    /** Removes all but the listen requests. Returns their ids. */
    deleteAnswerable(): readonly string[] {
      const ids = [...pending].flatMap(([id, request]) => (isListen(request) ? [] : [id]));
      for (const id of ids) pending.delete(id);
      return ids;
    },
  };
}
