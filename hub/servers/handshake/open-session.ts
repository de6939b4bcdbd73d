import type { ServerConfig } from '#config';
import type { Instance } from '#runtimes';
import { type ServerNotification, type Upstream, createPace, createUpstream } from '#upstream';
import { readListing } from '../listing/listing.ts';
import { createRereads, isListChange } from '../listing/reread.ts';
import { createSubscription } from '../listing/subscription.ts';
import { type ServerInfo, speechOf } from './handshake.ts';
import type { OpenSession, StartNeeds } from './start-types.ts';

/**
 * Performs the handshake with an instance and reads its lists; requests are numbered above `firstId`. Rejects
 * with HubError, and leaves the instance running then.
 */
export async function openSession(
  { name, startTimeoutMs, callTimeoutMs }: ServerConfig,
  instance: Instance,
  { hub, log, output, client, lists: listNeeds, opened }: StartNeeds,
  firstId: number | undefined,
  perform: (upstream: Upstream) => Promise<ServerInfo>,
): Promise<OpenSession> {
  const { clock, random, hubVersion } = hub;
  /** List changes before the first reading do not matter. */
  let heard = (notification: ServerNotification): void => {
    if (!isListChange(notification.method)) client.notified(notification);
  };
  const upstream = createUpstream(
    { server: name, ...(firstId !== undefined && { firstId }) },
    instance.channel,
    {
      clock,
      log,
      output,
      notified: notification => heard(notification),
      serverRequest: client.serverRequest,
      pace: createPace(instance.channel, client.maxNotifications, { clock, output }),
    },
  );
  opened(instance, upstream);
  const serverInfo = await perform(upstream);
  const { era, capabilities } = serverInfo;
  const { asking, isStateless } = speechOf(era, upstream, hubVersion);
  const rereads = createRereads(
    { server: name, timeoutMs: callTimeoutMs, isStateless, capabilities },
    asking,
    {
      clock,
      log,
      isCurrent: () => listNeeds.isCurrent(upstream),
      replace: listNeeds.replace,
      announce: listNeeds.announce,
    },
  );
  const subscription = isStateless
    ? createSubscription({ capabilities, interest: client.interest() }, asking, {
        clock,
        log,
        random,
        missed: () => rereads.doubt(),
      })
    : undefined;
  heard = notification => {
    const unmarked = subscription ? subscription.unwrap(notification) : notification;
    if (unmarked && !rereads.hear(unmarked)) client.notified(unmarked);
  };
  try {
    const reading = { clock, log, isStateless };
    const lists = await readListing(name, asking, capabilities, startTimeoutMs, reading);
    return { running: { instance, upstream, serverInfo }, lists, rereads, subscription };
  } catch (error) {
    subscription?.stop();
    throw error;
  }
}
