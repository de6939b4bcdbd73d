import {
  type Answer,
  type Notification,
  type Request,
  membersOf,
  rawText,
  splice,
  stringAt,
} from '#jsonrpc';

/**
 * The parts of a client's session that live in the hub, so that the bridge can restore them in another hub. The
 * requests that restore them have ids of their own, which no client uses.
 */
export interface Memory {
  /** Records a client's request that the hub has answered. */
  answered(request: Request, answer: Answer): void;
  /** Records a client's notification. */
  notified(notification: Notification): void;
  /** Returns the client's `initialize` under a new id; undefined if the client has not initialized a session. */
  again(): { readonly id: string; readonly bytes: Buffer } | undefined;
  /** Returns the messages to send once the hub has answered `again`. Forgets those sent to the previous hub. */
  rest(): readonly Buffer[];
  /** Records the answer to a restoring request. Returns false if the answer belongs to another request. */
  renewed(answer: Answer): boolean;
  /** Returns the subscriptions to retry, because the hub's resources have changed. */
  owed(): readonly Buffer[];
}

/** Maximum number of subscriptions that are renewed. The hub has no more for one session. */
const maxSubscriptions = 1_000;
const subscribe = 'resources/subscribe';

/** The requests whose effect is remembered. The bridge does not keep other requests until they are answered. */
export const remembered: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  subscribe,
  'resources/unsubscribe',
]);

export function createMemory(): Memory {
  let initialize: Request | undefined;
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
    answered(request, { failed }) {
      if (failed) return;
      const { method } = request;
      if (method === 'initialize') initialize = request;
      else if (method === 'logging/setLevel') level = request;
      else {
        const uri = uriOf(request);
        if (method === 'resources/unsubscribe') subscriptions.delete(uri);
        else if (method === subscribe && subscriptions.size < maxSubscriptions)
          subscriptions.set(uri, request);
      }
    },
    notified(notification) {
      if (notification.method === 'notifications/initialized') initialized = notification;
    },
    again: () => initialize && withOwnId(initialize),
    rest() {
      renewals.clear();
      refused.clear();
      const requests = [...(level ? [level] : []), ...subscriptions.values()];
      return [...(initialized ? [initialized.bytes] : []), ...requests.map(renew)];
    },
    renewed(answer) {
      const id = answer.id ? rawText(answer.bytes, answer.id) : '';
      const request = renewals.get(id);
      if (!request) return false;
      renewals.delete(id);
      if (answer.failed && request.method === subscribe) refused.add(request);
      return true;
    },
    owed() {
      // The client may have unsubscribed meanwhile.
      const due = [...subscriptions.values()].filter(request => refused.has(request));
      refused.clear();
      return due.map(renew);
    },
  };
}

const uriOf = ({ bytes, params }: Request) =>
  stringAt(bytes, membersOf(bytes, params)?.get('uri')) ?? '';
