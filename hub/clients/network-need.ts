import { isIP } from 'node:net';
import type { JsonObject } from '#core';
import type { KnownPackage } from './known-packages.ts';

/** Default ports of databases and message brokers, by the protocol of their URLs. */
const ports: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'mysql:': 3306,
  'redis:': 6379,
  'rediss:': 6379,
  'mongodb:': 27017,
  'amqp:': 5672,
};

/** Value of `network` that a server probably needs, and remarks about addresses that it cannot reach. */
type NetworkNeed = {
  /** Undefined if the server needs no network. */
  readonly network: JsonObject | 'bridge' | undefined;
  readonly remarks: readonly string[];
};

/**
 * Determines the network that a server needs: the known hosts of its package, and the hosts of URLs in `texts`. Without
 * any host, a server with a key gets the whole network. `texts` are the server's arguments and the values of its variables,
 * which are not shown.
 */
export function networkNeedOf(
  { network: own }: KnownPackage,
  texts: readonly string[],
  hasKey: boolean,
): NetworkNeed {
  const urls = texts.flatMap(text => {
    const [, url] = /^(?:--?[\w-]+=)?([a-z][a-z0-9+.-]+:\/\/\S+)$/i.exec(text) ?? [];
    return url === undefined ? [] : (URL.parse(url) ?? []);
  });
  const local = urls.filter(({ hostname }) => isThisMachine(hostname));
  const remarks = [...new Set(local.map(({ host }) => localRemark(host)))];
  if (own === 'bridge') return { network: 'bridge', remarks };
  const named = urls.filter(url => !local.includes(url) && isIP(bare(url.hostname)) === 0);
  const targets = [...new Set([...(own ?? []), ...named.flatMap(targetOf)])];
  if (targets.length > 0) return { network: { allow: targets }, remarks };
  return { network: own === undefined && hasKey ? 'bridge' : undefined, remarks };
}

/** Returns the target of `network.allow` for a URL; none for a URL without a network host, such as `file:`. */
function targetOf({ protocol, hostname, port }: URL): readonly string[] {
  if (hostname === '' || protocol === 'file:') return [];
  const isWeb = /^(?:https?|wss?):$/.test(protocol);
  if (isWeb && port === '') return [hostname];
  const number = port === '' ? ports[protocol] : Number(port);
  return number === undefined ? [] : [`${hostname}:${number}`];
}

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');

const isThisMachine = (hostname: string) =>
  hostname === 'localhost' || hostname.startsWith('127.') || hostname === '[::1]';

const localRemark = (host: string) =>
  `${host} is this machine, which its container cannot reach. Let the other program listen on an address with a name, and write that name, or run the server with "runtime": "process"`;
