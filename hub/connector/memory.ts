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
 * What of a client's session lives in the hub, so that another hub can be told the same. The requests by
 * which it is told have ids of their own, which no client uses.
 */
export interface Memory {
  /** A request of the client has been answered. */
  answered(request: Request, answer: Answer): void;
  /** The client tells something. */
  notified(notification: Notification): void;
  /** The client's `initialize` under another id; undefined where it has none, and no session. */
  again(): { readonly id: string; readonly bytes: Buffer } | undefined;
  /** What a hub is to be told once that is answered. What the one before was told is forgotten. */
  rest(): readonly Buffer[];
  /** An answer to any of the rest; false where it is to something else. */
  renewed(answer: Answer): boolean;
  /** The hub has other resources than before: what is to be asked of it once more. */
  owed(): readonly Buffer[];
}

/** More subscriptions than this are not renewed. The hub has no more for one session. */
const maxSubscriptions = 1_000;
const subscribe = 'resources/subscribe';

/** The requests whose effect is remembered. Others need not be kept until they are answered. */
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
  /** What was asked on behalf of the client and is not answered yet, by the own id. */
  const renewals = new Map<string, Request>();
  /** Subscriptions that the hub did not take, as their servers may still be starting. */
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
