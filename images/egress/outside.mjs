// Opens connections to targets outside, each checked against the allow list of its server.
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { connect, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { findEntry, nameOf, problemOf } from './rules.mjs';

const dnsMs = 3_000;
const connectMs = 10_000;
/** Maximum age in ms of the cached own addresses. The time to read them grows with the number of networks. */
const placesMs = 1_000;
const maxAddresses = 4;
/** Host names that Docker engines give to their host. */
const hostNames = ['host.docker.internal', 'gateway.docker.internal'];

/** Error for a target that is not allowed or not reachable. `status` is the HTTP status of the response. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function createOutside(state, reports) {
  // Not dns.lookup: it blocks one of few threads per name, so one server could delay all others.
  const resolver = new Resolver({ timeout: dnsMs, tries: 2 });
  let hostAddresses = new Set();
  /** Open connections, each with the server, name and port for which it was allowed. */
  const opened = new Set();

  let places;
  let readAt = -placesMs;
  /** Returns the forwarder's own addresses, cached for `placesMs` or until the hub sends new lists. */
  const ownPlaces = () => {
    const now = performance.now();
    if (now - readAt < placesMs) return places;
    readAt = now;
    places = readPlaces();
    return places;
  };

  const addressesOf = async name => {
    const found = await Promise.allSettled([
      resolver.resolve4(name),
      ...(ownPlaces().hasV6 ? [resolver.resolve6(name)] : []),
    ]);
    return found.flatMap(one => one.value ?? []);
  };

  /** True if the current list of a server allows the target. False also if another server now has its address. */
  function isAllowed({ name: server, peer }, name, port) {
    const current = state.servers.get(peer);
    return current?.name === server && findEntry(current.allow, name, port) !== undefined;
  }

  /**
   * Opens a connection for a server, paused if `onread` is given. Rejects with Refused if the target is not allowed,
   * which is reported to the hub, or not reachable.
   */
  async function open(server, host, port, onread) {
    const name = nameOf(host);
    const target = `${host}:${port}`;
    const block = why => {
      reports.blocked(server.name, target, why);
      throw new Refused(403, `${target} ${why}`);
    };
    if (name === undefined) block('is not a name: addresses are never allowed');
    const entry = findEntry(server.allow, name, port);
    if (!entry) block(`is not in "network.allow" of the server ${server.name}`);
    const addresses = await addressesOf(name);
    if (addresses.length === 0) throw new Refused(502, `${target} cannot be resolved`);
    const { own, gateways } = ownPlaces();
    const about = {
      ...state,
      isInternal: entry.internal,
      own,
      host: new Set([...gateways, ...hostAddresses, ...state.hub.addresses]),
    };
    const good = addresses.filter(address => problemOf(address, port, about) === undefined);
    const [first] = addresses;
    if (good.length === 0) block(`leads to ${first}, which ${problemOf(first, port, about)}`);
    const socket = await dialFirst(good.slice(0, maxAddresses), { port, onread }, target);
    // The list may have changed during the DNS lookup and the connect.
    if (!isAllowed(server, name, port)) {
      socket.destroy();
      block(`is not in "network.allow" of the server ${server.name}`);
    }
    reports.allowed(server.name);
    const one = { server, name, port, socket };
    opened.add(one);
    socket.once('close', () => opened.delete(one));
    return socket;
  }

  return {
    open,
    /** Closes the connections that the current lists no longer allow. */
    recheck() {
      readAt = -placesMs;
      for (const { server, name, port, socket } of opened)
        if (!isAllowed(server, name, port)) socket.destroy();
    },
    /** Resolves the names of the host, whose addresses only exact entries of a list allow. */
    async learnHost() {
      hostAddresses = new Set((await Promise.all(hostNames.map(addressesOf))).flat());
    },
  };
}

async function dialFirst(addresses, options, target) {
  let problem;
  for (const address of addresses) {
    try {
      return await dial(address, options);
    } catch (error) {
      problem = error;
    }
  }
  throw new Refused(502, `${target} does not answer: ${problem.message}`);
}

function dial(host, { port, onread }) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const socket = connect({
    host,
    port,
    family: isIPv6(host) ? 6 : 4,
    allowHalfOpen: true,
    noDelay: true,
    timeout: connectMs,
    ...(onread && { onread }),
  });
  if (onread) socket.pause();
  socket.on('timeout', () => socket.destroy(new Error('no answer in time')));
  socket.on('connect', () => {
    socket.removeAllListeners('timeout').setTimeout(0);
    resolve(socket);
  });
  socket.on('error', reject);
  return promise;
}

/** Returns the addresses of the forwarder, whether one is a public IPv6 address, and the addresses of its gateways. */
function readPlaces() {
  const own = Object.values(networkInterfaces()).flat();
  return {
    own: new Set(own.map(({ address }) => address)),
    hasV6: own.some(
      ({ family, address, internal }) => family === 'IPv6' && !internal && !/^f[de]/.test(address),
    ),
    gateways: readGateways(),
  };
}

/** Returns the gateways of the routes, which are addresses of the host. The kernel prints them in host byte order. */
function readGateways() {
  const lines = readFileSync('/proc/net/route', 'utf8').split('\n').slice(1);
  const hex = lines
    .map(line => line.split('\t')[2] ?? '00000000')
    .filter(one => /[1-9A-F]/.test(one));
  return hex.map(one => Buffer.from(one, 'hex').reverse().join('.'));
}
