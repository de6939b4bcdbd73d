import { lookup } from 'node:dns/promises';
import { BlockList, type LookupFunction, isIP, isIPv6 } from 'node:net';
import { type Clock, HubError, http, https, messageOf, withoutSecrets } from '#core';

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Maximum size of a response in bytes. Metadata and token responses are small. */
export const maxAnswerBytes = 262_144;
const timeoutMs = 15_000;

type Home = { readonly name: string; readonly url: string };

/** Resolves a host name to an IP address. */
type Resolve = (host: string) => Promise<{ readonly address: string }>;

type Needs = { readonly clock: Clock; readonly resolve?: Resolve };

/**
 * Creates a fetch that connects only to addresses which `createAddressCheck` allows, and follows no redirects. Rejects
 * with HUB_LOGIN_FAILED.
 */
export function createBoundedFetch(home: Home, { clock, resolve }: Needs): Fetch {
  const checkAddress = createAddressCheck(home, resolve);
  return async (input, init = {}) => {
    const url = new URL(input);
    const address = await checkAddress(url);
    return await request(url, init, address, clock).catch((cause: unknown) => {
      throw failedAt(home)(`${withoutSecrets(url)} cannot be reached: ${messageOf(cause)}`, cause);
    });
  };
}

const failedAt =
  ({ name: server }: Home) =>
  (message: string, cause?: unknown) =>
    new HubError('HUB_LOGIN_FAILED', `${server}: ${message}`, { cause, data: { server } });

/**
 * Creates a check of the URLs that a remote server and its authorization server name. Requires https except on
 * loopback. Allows private addresses only if the server itself has one, and loopback only if the server's URL is
 * loopback. Resolves with the IP address. Rejects with HUB_LOGIN_FAILED.
 */
export function createAddressCheck(
  at: Home,
  resolve: Resolve = lookup,
): (url: URL) => Promise<string> {
  const { url: home } = at;
  const failed = failedAt(at);
  const isLocalHome = isLoopbackName(new URL(home).hostname);
  let homeKind: Promise<AddressKind> | undefined;

  async function requireAddress(host: string, address: string): Promise<void> {
    const kind = kindOfAddress(address);
    if (kind === 'public' || (kind === 'loopback' && isLocalHome)) return;
    if (kind === 'private') {
      homeKind ??= kindOfHost(new URL(home).hostname, resolve);
      if (isLocalHome || (await homeKind) === 'private') return;
    }
    throw failed(
      `its login leads to ${host} (${address}), which is not an address that a server elsewhere may send the hub to`,
    );
  }

  async function addressOf(host: string): Promise<string> {
    try {
      return (await resolve(host)).address;
    } catch (cause) {
      throw failed(`its login leads to ${host}, which has no address: ${messageOf(cause)}`, cause);
    }
  }

  return async url => {
    const isPlain = url.protocol === 'http:' && isLoopbackName(url.hostname);
    if (url.protocol !== 'https:' && !isPlain)
      throw failed(`its login leads to ${withoutSecrets(url)}, and a login needs https`);
    if (url.username !== '' || url.password !== '')
      throw failed('its login leads to an address with a user or password');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const address = isIP(host) > 0 ? host : await addressOf(host);
    await requireAddress(host, address);
    return address;
  };
}

/** Sends a request to the checked IP address: the host name may resolve to another address a moment later. */
async function request(
  url: URL,
  init: RequestInit,
  address: string,
  clock: Clock,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const family = isIPv6(address) ? 6 : 4;
  const checked: LookupFunction = (_host, options, done) =>
    options.all === true ? done(null, [{ address, family }]) : done(null, address, family);
  const body = init.body === undefined || init.body === null ? undefined : bodyText(init.body);
  const outgoing = (url.protocol === 'https:' ? https : http).request(url, {
    method: init.method ?? 'GET',
    agent: false,
    lookup: checked,
    headers: {
      ...Object.fromEntries(new Headers(init.headers)),
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      'accept-encoding': 'identity',
    },
  });
  using _late = clock.after(timeoutMs, () =>
    outgoing.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)),
  );
  const abort = () => outgoing.destroy(new Error('it was given up'));
  init.signal?.addEventListener('abort', abort);
  outgoing.on('error', reject);
  // Node ends such a request with neither a response nor an error if nobody listens.
  outgoing.on('upgrade', ({ statusCode }, socket) => {
    socket.destroy();
    reject(new Error(`it answered ${statusCode}`));
  });
  outgoing.on('response', incoming => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes)
        outgoing.destroy(new Error(`its answer is larger than ${maxAnswerBytes} bytes`));
      else chunks.push(chunk);
    });
    incoming.on('error', reject);
    incoming.on('end', () => {
      const { statusCode: status = 502, headers } = incoming;
      const isEmpty = [204, 205, 304].includes(status);
      const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, String(value)]],
      );
      if (status < 200 || status > 599) reject(new Error(`it answered ${status}`));
      else
        resolve(new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers: pairs }));
    });
  });
  outgoing.end(body);
  try {
    return await promise;
  } finally {
    init.signal?.removeEventListener('abort', abort);
  }
}

function bodyText(body: unknown): string {
  if (typeof body === 'string') return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError('only texts are sent');
}

type AddressKind = 'public' | 'private' | 'loopback' | 'refused';

const isLoopbackName = (name: string) =>
  name === 'localhost' || name.endsWith('.localhost') || kindOfLiteral(name) === 'loopback';

function kindOfLiteral(name: string): AddressKind | undefined {
  const address = name.replace(/^\[|\]$/g, '');
  return isIP(address) > 0 ? kindOfAddress(address) : undefined;
}

async function kindOfHost(name: string, resolve: Resolve): Promise<AddressKind> {
  const literal = kindOfLiteral(name);
  if (literal) return literal;
  const found = await resolve(name).catch(() => undefined); // The host was reached before. If unknown, it does not count as private.
  return found ? kindOfAddress(found.address) : 'refused';
}

function createAddressLists() {
  return {
    loopback: listOf('127.0.0.0/8', '::1/128'),
    privates: listOf('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'),
    /**
     * Unspecified, link-local and site-local, multicast, reserved, metadata services of clouds (link-local, or one of
     * the single addresses), and IPv4 embedded in IPv6.
     */
    never: listOf(
      '0.0.0.0/8',
      '100.100.100.200/32',
      '168.63.129.16/32',
      '169.254.0.0/16',
      '192.0.0.0/24',
      '198.18.0.0/15',
      '224.0.0.0/3',
      '::/96',
      'fe80::/10',
      'fec0::/10',
      'ff00::/8',
      '64:ff9b::/96',
      '64:ff9b:1::/48',
      '2001::/32',
      '2002::/16',
      'fd00:ec2::254/128',
    ),
  };
}

function listOf(...subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = '', bits] = subnet.split('/');
    list.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Created at first use, as most hubs have no login to a remote server. */
let lists: ReturnType<typeof createAddressLists> | undefined;

/** Classifies an IP address. */
export function kindOfAddress(address: string): AddressKind {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return kindOfAddress(mapped);
  const { loopback, privates, never } = (lists ??= createAddressLists());
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  if (loopback.check(address, family)) return 'loopback';
  if (never.check(address, family) || /^::ffff:/i.test(address)) return 'refused';
  return privates.check(address, family) ? 'private' : 'public';
}
