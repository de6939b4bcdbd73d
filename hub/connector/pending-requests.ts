import { type Request, membersOf } from '#jsonrpc';
import { metaKeys } from '#mcp';
import { remembered } from './session.ts';

/** Maximum number of unanswered requests of a client. */
const maxPending = 10_000;

const listen = 'subscriptions/listen';

/** Keeps the client's unanswered requests, by the client's id as JSON text. */
export function createPendingRequests() {
  /** The value is the request itself if the bridge needs its content later. */
  const pending = new Map<string, Request | 'stateless' | undefined>();
  const requestOf = (id: string): Request | undefined => {
    const request = pending.get(id);
    return request === 'stateless' ? undefined : request;
  };
  const isListen = (request: Request | 'stateless' | undefined): request is Request =>
    request !== undefined && request !== 'stateless' && request.method === listen;

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
      const isKept = remembered.has(request.method) || isListen(request);
      pending.set(id, isKept ? request : isStateless(request) ? 'stateless' : undefined);
    },
    /**
     * Called when the client cancels a request. True if the request gets no answer: the hub does not answer cancelled
     * requests of MCP 2026-07-28.
     */
    cancelled(id: string): boolean {
      const request = pending.get(id);
      return (request === 'stateless' || isListen(request)) && pending.delete(id);
    },
    /** Returns the request if its effect has to be restored in the next hub. */
    find: requestOf,
    /** Returns the request if it is `subscriptions/listen`, which the next hub gets if this one disconnects. */
    findListen(id: string): Request | undefined {
      const request = requestOf(id);
      return isListen(request) ? request : undefined;
    },
    listens: (): readonly Request[] => [...pending.values()].filter(isListen),
    /** Returns false if no such request is pending. */
    delete: (id: string): boolean => pending.delete(id),
    /** Removes all requests except `subscriptions/listen`. Returns their ids. */
    deleteAnswerable(): readonly string[] {
      const ids = [...pending].flatMap(([id, request]) => (isListen(request) ? [] : [id]));
      for (const id of ids) pending.delete(id);
      return ids;
    },
  };
}

function isStateless({ bytes, params }: Request): boolean {
  // Most requests belong to a session. The text search avoids reading their params.
  if (!bytes.includes(metaKeys.protocolVersion)) return false;
  const meta = membersOf(bytes, membersOf(bytes, params)?.get('_meta'));
  return meta?.has(metaKeys.protocolVersion) ?? false;
}
