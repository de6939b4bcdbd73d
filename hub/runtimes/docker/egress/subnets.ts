import { randomInt } from 'node:crypto';

/**
 * The network of a server: a subnet for the forwarder and the server. It is from a pool of the hub's own, because 31
 * networks use up the engine's pools. In an isolated network no address belongs to the engine's machine.
 */
export type ServerSubnet = {
  readonly subnet: string;
  readonly forwarder: string;
  readonly server: string;
};

/** Address pool of all server networks. The broker admits exactly this pool. */
export const pool = '10.213.0.0/16';
const subnetCount = 2 ** 14;

export const randomSubnet = (): ServerSubnet => subnetAt(randomInt(subnetCount));

/** Returns the subnet with this index in the pool. */
export function subnetAt(index: number): ServerSubnet {
  const address = (host: number) => `10.213.${index >> 6}.${(index & 63) * 4 + host}`;
  return { subnet: `${address(0)}/30`, forwarder: address(1), server: address(2) };
}

/** Returns the subnet with this CIDR notation; undefined if it is not in the pool. */
export function findSubnet(notation: string | undefined): ServerSubnet | undefined {
  const [, third, fourth] = /^10\.213\.(\d{1,3})\.(\d{1,3})\/30$/.exec(notation ?? '') ?? [];
  if (third === undefined || Number(third) > 255) return undefined;
  const found = subnetAt(Number(third) * 64 + Number(fourth) / 4);
  return found.subnet === notation ? found : undefined;
}
