import { setBounded } from '#core';
import {
  type Answer,
  type Edit,
  type Notification,
  type Request,
  type Span,
  membersOf,
  rawText,
  splice,
  stringAt,
} from '#jsonrpc';
import { allowsBatches } from '#mcp';

/** Maximum number of subscriptions that are restored, equal to the hub's maximum per session. */
const maxSubscriptions = 1_000;
const subscribe = 'resources/subscribe';

/** Requests whose effect is restored in the next hub. The bridge stores their content until they are answered. */
export const remembered: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  subscribe,
  'resources/unsubscribe',
]);

/**
 * Creates a store for the parts of a client's session that live in the hub, so that the bridge can restore them in
 * another hub. The requests that restore them have ids of their own, which no client uses.
 */
export function createSession() {
  let initialize: Request | undefined;
  let version: string | undefined;
  let initialized: Notification | undefined;
  let level: Request | undefined;
  const subscriptions = new Map<string, Request>();
  let ownIds = 0;
  /** Unanswered requests that the bridge sent on behalf of the client, by the bridge's own id. */
  const renewals = new Map<string, Request>();
  /** Subscriptions that the hub refused. Their servers may still be starting. */
  const refused = new Set<Request>();

  function withOwnId({ bytes, id }: Request): { readonly id: string; readonly bytes: Buffer } {
    const own = `"agenthub-bridge-${++ownIds}"`;
    return { id: own, bytes: splice(bytes, [{ span: id, text: own }]) };
  }

  function renew(request: Request): Buffer {
    const { id, bytes } = withOwnId(request);
    renewals.set(id, request);
    return bytes;
  }

  return {
    /** Records a client's request that the hub has answered. */
    recordAnswer(request: Request, answer: Answer): void {
      if (answer.failed) return;
      const { method, bytes, params } = request;
      const uri = () => stringAt(bytes, membersOf(bytes, params)?.get('uri')) ?? '';
      if (method === 'initialize') {
        initialize = request;
        const result = membersOf(answer.bytes, answer.payload);
        version = stringAt(answer.bytes, result?.get('protocolVersion'));
      } else if (method === 'logging/setLevel') level = request;
      else if (method === 'resources/unsubscribe') subscriptions.delete(uri());
      else if (method === subscribe && subscriptions.size < maxSubscriptions)
        subscriptions.set(uri(), request);
    },
    /** True if the revision of the session allows batches. */
    get allowsBatches(): boolean {
      return allowsBatches(version ?? '');
    },
    recordNotification(notification: Notification): void {
      if (notification.method === 'notifications/initialized') initialized = notification;
    },
    /** Returns the client's `initialize` with a new id; undefined if the client has not initialized a session. */
    initializeAgain: () => initialize && withOwnId(initialize),
    /** Returns the messages to send after `initialize` is answered. Forgets the messages sent to the previous hub. */
    restore(): readonly Buffer[] {
      renewals.clear();
      refused.clear();
      const requests = [...(level ? [level] : []), ...subscriptions.values()];
      return [...(initialized ? [initialized.bytes] : []), ...requests.map(renew)];
    },
    /** Records the answer to a restoring request. Returns false if the answer belongs to another request. */
    recordRestored(answer: Answer): boolean {
      const id = answer.id ? rawText(answer.bytes, answer.id) : '';
      const request = renewals.get(id);
      if (!request) return false;
      renewals.delete(id);
      if (answer.failed && request.method === subscribe) refused.add(request);
      return true;
    },
    /** Returns the refused subscriptions as messages to send again, now that the hub's resources have changed. */
    retrySubscriptions(): readonly Buffer[] {
      // The client may have unsubscribed meanwhile.
      const due = [...subscriptions.values()].filter(request => refused.has(request));
      refused.clear();
      return due.map(renew);
    },
  };
}

/** Maximum number of unanswered requests from a hub to one client. Above it, the oldest request is forgotten. */
const maxForwarded = 1_000;

/**
 * Creates the table of requests that successive hubs send to the client. Each hub counts its requests from one, so
 * the client gets them under ids that are unique across hubs. A late answer then never reaches a hub that asked
 * something else.
 */
export function createForwardedRequests() {
  /** Maps the ids that the client sees to the ids of the hub. */
  const open = new Map<string, string>();
  let hubs = 0;

  function withClientId(bytes: Buffer, span: Span): Edit {
    const hubId = rawText(bytes, span);
    return { span, text: hubs === 0 ? hubId : JSON.stringify(`${hubs}/${hubId}`) };
  }

  return {
    /** Returns a hub's request with the id that the client sees. */
    requestForClient({ bytes, id }: Request): Buffer {
      const edit = withClientId(bytes, id);
      setBounded(open, edit.text, rawText(bytes, id), maxForwarded);
      return splice(bytes, [edit]);
    },
    /** Returns a hub's notification for the client. A cancellation gets the request id that the client sees. */
    notificationForClient({ method, bytes, params }: Notification): Buffer {
      const isCancellation = method === 'notifications/cancelled';
      const span = isCancellation ? membersOf(bytes, params)?.get('requestId') : undefined;
      if (!span) return bytes;
      const edit = withClientId(bytes, span);
      open.delete(edit.text);
      return splice(bytes, [edit]);
    },
    /** Returns a client's answer with the hub's id; undefined if no hub waits for the answer. */
    answerForHub({ bytes, id }: Answer): Buffer | undefined {
      const hubId = id && open.get(rawText(bytes, id));
      if (!id || hubId === undefined) return undefined;
      open.delete(rawText(bytes, id));
      return splice(bytes, [{ span: id, text: hubId }]);
    },
    /** Switches to the next hub. Returns the ids, as JSON text, of requests that no longer need an answer. */
    nextHub(): readonly string[] {
      const ids = [...open.keys()];
      open.clear();
      hubs++;
      return ids;
    },
  };
}
