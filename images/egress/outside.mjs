// Connections to the outside, each checked against the list of its server.
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { connect, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { findEntry, nameOf, problemOf } from './rules.mjs';

const dnsMs = 3_000;
const connectMs = 10_000;
/** Maximum age in ms of the own addresses: to read them takes as long as there are networks. */
const placesMs = 1_000;
const maxAddresses = 4;
/** Names that engines give to the machine they run on. */
const hostNames = ['host.docker.internal', 'gateway.docker.internal'];

/** A target that must not be reached, or could not be. `status` is that of HTTP. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function createOutside(state, reports) {
  // Not the system's resolver: that uses one of few threads per name, which one server could hold.
  const resolver = new Resolver({ timeout: dnsMs, tries: 2 });
  let hostAddresses = new Set();
  /** The open connections, each with what it was allowed as. */
  const opened = new Set();

  let places;
  let readAt = -placesMs;
  /** Read again after every change of networks, which the hub tells, and after some time. */
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

  /** True if the current list of a server has the target. Another server may have got its address. */
  function isAllowed({ name: server, peer }, name, port) {
    const current = state.servers.get(peer);
    return current?.name === server && findEntry(current.allow, name, port) !== undefined;
  }

  /** Opens a connection for a server, paused if it has `onread`. Throws Refused, after it was reported. */
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
    // The list may have changed while the name was looked up and the connection opened.
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
    /** Ends the connections that the current lists do not allow any more. */
    recheck() {
      readAt = -placesMs;
      for (const { server, name, port, socket } of opened)
        if (!isAllowed(server, name, port)) socket.destroy();
    },
    /** Finds out under which addresses the machine is known here. */
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

/** The addresses of the forwarder, whether it has a public one of IPv6, and the addresses of its gateways. */
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

/** The gateways of the routes, which are addresses of the engine's machine. The kernel writes them in its byte order. */
function readGateways() {
  const lines = readFileSync('/proc/net/route', 'utf8').split('\n').slice(1);
  const hex = lines
    .map(line => line.split('\t')[2] ?? '00000000')
    .filter(one => /[1-9A-F]/.test(one));
  return hex.map(one => Buffer.from(one, 'hex').reverse().join('.'));
}
