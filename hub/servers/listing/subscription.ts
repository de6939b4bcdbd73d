import { type Clock, type Log, backoffMs, isObject, messageOf } from '#core';
import {
  type Answer,
  type Notification,
  membersOf,
  rawText,
  readMessage,
  rpcCodes,
  splice,
  valueOf,
} from '#jsonrpc';
import { metaKeys, tasksExtension } from '#mcp';
import type { Asking } from '../handshake/handshake.ts';
import type { Interest } from '../server-types.ts';

type SubscriptionOptions = {
  readonly capabilities: { readonly [name: string]: unknown };
  readonly interest: Interest;
};

type SubscriptionNeeds = {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly random: () => number;
  readonly log: Log;
  readonly missed: () => void;
};

/** An open subscription; `id` and `filter` are JSON texts. */
type Open = {
  readonly id: string;
  readonly filter: string;
  readonly sinceMs: number;
  readonly wait: Disposable;
  cancel(reason: string): void;
};

/** How a `subscriptions/listen` ended: with a response, or with an error of the hub or the channel. */
type End = { readonly answer?: Answer; readonly error?: unknown };

const backoff = { firstMs: 500, maxMs: 30_000, jitter: 0.5 };
/** A subscription counts as acknowledged after this time, in ms. */
const acknowledgedMs = 10_000;

/**
 * Creates the `subscriptions/listen` that the hub keeps open with a server of the stateless revision, for all clients
 * (MCP 2026-07-28). Subscribes at once. When the clients' interest changes, a second subscription replaces the first
 * once acknowledged.
 */
export function createSubscription(
  { capabilities, interest }: SubscriptionOptions,
  asking: Pick<Asking, 'listen'>,
  needs: SubscriptionNeeds,
) {
  const { clock, log } = needs;
  let wanted = interest;
  let current: Open | undefined;
  let next: Open | undefined;
  let retry: Disposable | undefined;
  let failures = 0;
  let isDeaf = false;
  /** Why no subscription is opened any more. `refused`: the server does not know `subscriptions/listen`. */
  let over: 'stopped' | 'refused' | undefined;

  /** Opens the wanted subscription, unless it is open or being opened. */
  function update(): void {
    if (over || next || retry) return;
    // Computed only when it may be sent: it is sorted, and may name thousands of resources.
    const filter = filterOf(capabilities, wanted);
    if (filter === (current?.filter ?? '{}')) return;
    if (filter === '{}') {
      current?.cancel('no client listens to anything');
      current = undefined;
    } else open(filter);
  }

  function open(filter: string): void {
    try {
      const listening = asking.listen({ notifications: JSON.parse(filter) });
      const opened: Open = {
        id: String(listening.id),
        filter,
        sinceMs: clock.monotonic(),
        wait: clock.after(acknowledgedMs, () => take(opened)),
        cancel: reason => listening.cancel(reason),
      };
      next = opened;
      listening.over.then(
        answer => ended(opened, { answer }),
        (error: unknown) => ended(opened, { error }),
      );
    } catch (error) {
      again({ error });
    }
  }

  function take(opened: Open): void {
    if (next !== opened) return;
    opened.wait[Symbol.dispose]();
    const old = current;
    current = opened;
    next = undefined;
    old?.cancel('another listen has taken its place');
    if (isDeaf) needs.missed();
    isDeaf = false;
    update();
  }

  function ended(opened: Open, how: End): void {
    opened.wait[Symbol.dispose]();
    if (opened === next) next = undefined;
    else if (opened === current) {
      current = undefined;
      isDeaf = true;
    } else return;
    if (over) return;
    if (isUnknownMethod(how)) {
      over = 'refused';
      const what = 'the server does not know subscriptions/listen';
      log.info({}, `${what}: the hub receives no change notifications`);
      return;
    }
    if (clock.monotonic() - opened.sinceMs > backoff.maxMs) failures = 0;
    again(how);
  }

  function again({ error }: End): void {
    // A subscription that is being opened replaces the one that ended.
    if (next || retry) return;
    const delayMs = backoffMs(backoff, ++failures, needs.random);
    const how = error === undefined ? 'the server ended it' : messageOf(error);
    log.debug({ how, delayMs }, 'the hub subscribes again');
    retry = clock.after(delayMs, () => {
      retry = undefined;
      update();
    });
  }

  update();
  return {
    want(changed: Interest): void {
      wanted = changed;
      update();
    },
    /**
     * Removes the subscription id from a notification. Undefined for notifications about the subscription itself, or of
     * a replaced one.
     */
    unwrap(notification: Notification): Notification | undefined {
      const { bytes, method, params } = notification;
      const members = membersOf(bytes, params);
      if (method === 'notifications/cancelled') {
        const ending = members?.get('requestId');
        const id = ending && rawText(bytes, ending);
        const opened = [current, next].find(one => one !== undefined && one.id === id);
        // The server may or may not send the response to the request as well.
        opened?.cancel('the server has ended it');
        return opened ? undefined : notification;
      }
      const metaSpan = members?.get('_meta');
      const meta = membersOf(bytes, metaSpan);
      const mark = meta?.get(metaKeys.subscriptionId);
      if (!metaSpan || !meta || !mark) return notification;
      const id = rawText(bytes, mark);
      if (next?.id === id) take(next);
      if (method === 'notifications/subscriptions/acknowledged' || current?.id !== id)
        return undefined;
      const kept = [...meta].filter(([name]) => name !== metaKeys.subscriptionId);
      const text = kept.map(([name, span]) => `${JSON.stringify(name)}:${rawText(bytes, span)}`);
      const rest = { span: metaSpan, text: `{${text.join(',')}}` };
      const unmarked = readMessage(splice(bytes, [rest]));
      return unmarked.kind === 'notification' ? unmarked : undefined;
    },
    /** Ends the subscription, because the server has ended or is about to. */
    stop(): void {
      over = 'stopped';
      retry?.[Symbol.dispose]();
      current?.wait[Symbol.dispose]();
      next?.wait[Symbol.dispose]();
    },
  };
}

/** Returns the filter as JSON text: the changes that clients listen to and the server supports. */
function filterOf(
  capabilities: SubscriptionOptions['capabilities'],
  { resources, tasks }: Interest,
): string {
  const tells = (name: string, what: string) => {
    const capability = capabilities[name];
    return isObject(capability) && capability[what] === true;
  };
  const { extensions } = capabilities;
  const hasTasks = isObject(extensions) && isObject(extensions[tasksExtension]);
  return JSON.stringify({
    ...(tells('tools', 'listChanged') && { toolsListChanged: true }),
    ...(tells('prompts', 'listChanged') && { promptsListChanged: true }),
    ...(tells('resources', 'listChanged') && { resourcesListChanged: true }),
    ...(tells('resources', 'subscribe') &&
      resources.length > 0 && { resourceSubscriptions: [...resources].sort() }),
    ...(hasTasks && tasks.length > 0 && { taskIds: [...tasks].sort() }),
  });
}

function isUnknownMethod({ answer }: End): boolean {
  const error = answer?.failed && valueOf(answer.bytes, answer.payload);
  return isObject(error) && error['code'] === rpcCodes.methodNotFound;
}
