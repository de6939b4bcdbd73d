import { type Network, targetsOf } from '#config';
import { isObject, tryParseJson } from '#core';
import { type ServerSubnet, pool } from './subnets.ts';

/** The addresses of the hub and of the services that it uses. Servers may not connect to them. */
export type HubPlaces = {
  /** Addresses of the hub's machine. */
  readonly addresses: readonly string[];
  /** Ports of the hub and its services on the addresses of the machine. */
  readonly ports: readonly number[];
  readonly backends: readonly { readonly address: string; readonly port: number }[];
};

/** A server in its network, and the targets that it may reach. */
export type Member = {
  readonly server: string;
  readonly subnet: ServerSubnet;
  readonly network: Network;
};

/** Connections of a server that the forwarder has counted since its last report. */
export type Traffic = {
  readonly server: string;
  readonly allowed: number;
  readonly blocked: readonly {
    readonly target: string;
    readonly why: string;
    readonly count: number;
  }[];
};

type Report = { readonly applied: number } | { readonly traffic: Traffic };

/** Maximum length of a report in characters. A report has up to 50 targets. */
const maxReportLength = 64 * 1024;

/**
 * Returns the line that tells the forwarder (`images/egress`) its whole state. With `keepsOthers`, servers that it knows
 * from before keep their lists and connections: a hub adopts its servers one after the other.
 */
export function stateLine(
  number: number,
  members: Iterable<Member>,
  hub: HubPlaces,
  keepsOthers = false,
): string {
  const servers = Array.from(members, ({ server, subnet, network }) => ({
    name: server,
    peer: subnet.server,
    self: subnet.forwarder,
    allow: entriesOf(network),
  }));
  const others = keepsOthers && { keeps_others: true };
  return `${JSON.stringify({ apply: number, pool, servers, hub, ...others })}\n`;
}

/** Returns the targets that a server may reach. A target without `ports` may be reached on all ports. */
function entriesOf(network: Network) {
  if (network === 'bridge') return [{ name: '*', internal: false }];
  return targetsOf(network).map(({ name, ports, isExact }) => ({ name, ports, internal: isExact }));
}

/**
 * Splits the forwarder's output into reports. Ignores all other output, such as the rest of a line for an earlier run.
 */
export function createReportReader(heard: (report: Report) => void) {
  let rest = '';
  return {
    push(chunk: Buffer): void {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > maxReportLength) rest = '';
      for (const line of lines) {
        const report = parseReport(line);
        if (report) heard(report);
      }
    },
  };
}

function parseReport(line: string): Report | undefined {
  const value = tryParseJson(line);
  if (!isObject(value)) return undefined;
  const { applied, traffic } = value;
  if (typeof applied === 'number') return { applied };
  if (!isObject(traffic)) return undefined;
  const { server, allowed, blocked } = traffic;
  if (typeof server !== 'string' || typeof allowed !== 'number' || !Array.isArray(blocked))
    return undefined;
  return { traffic: { server, allowed, blocked: blocked.flatMap(blockedIn) } };
}

function blockedIn(value: unknown): Traffic['blocked'] {
  if (!isObject(value)) return [];
  const { target, why, count } = value;
  return typeof target === 'string' && typeof why === 'string' && typeof count === 'number'
    ? [{ target, why, count }]
    : [];
}
