import { type Request, membersOf } from '#jsonrpc';
import { metaKeys } from '#mcp';
import { remembered } from './session.ts';

/** Maximum number of unanswered requests of a client. */
const maxPending = 10_000;

const listen = 'subscriptions/listen';

/** The client's unanswered requests, by the client's id as JSON text. */
export function createPendingRequests() {
  /** The value is the request if the bridge needs it again. */
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
    /** The client cancelled a request. True if it gets no answer: the hub does not answer one of MCP 2026-07-28 then. */
    cancelled(id: string): boolean {
      const request = pending.get(id);
      return (request === 'stateless' || isListen(request)) && pending.delete(id);
    },
    /** The request if its effect is remembered. */
    find: requestOf,
    /** The request if it is a listen request, which the next hub gets if this one goes away. */
    findListen(id: string): Request | undefined {
      const request = requestOf(id);
      return isListen(request) ? request : undefined;
    },
    listens: (): readonly Request[] => [...pending.values()].filter(isListen),
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

function isStateless({ bytes, params }: Request): boolean {
  // Most requests are of a session. The text search avoids reading their params.
  if (!bytes.includes(metaKeys.protocolVersion)) return false;
  const meta = membersOf(bytes, membersOf(bytes, params)?.get('_meta'));
  return meta?.has(metaKeys.protocolVersion) ?? false;
}
