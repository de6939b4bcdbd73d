import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';

/** Generators of random subnets. The public ones are from the three blocks for documentation (RFC 5737). */
const randomSubnets = {
  public: () => `${documentationBlocks[randomInt(3)]}.${randomInt(16) * 16}/28`,
  private: () => `10.214.${randomInt(256)}.0/28`,
  linkLocal: () => `169.254.${randomInt(1, 255)}.0/28`,
};
const documentationBlocks = ['192.0.2', '198.51.100', '203.0.113'];

export type SubnetKind = keyof typeof randomSubnets;

/**
 * Returns a random subnet in CIDR notation that overlaps no network of this machine. The engine would accept one that
 * does, and then the machine answers instead of a container, or loses its own gateway.
 */
export function randomSubnet(kind: SubnetKind, ownNetworks = networksOfMachine()): string {
  for (;;) {
    const subnet = randomSubnets[kind]();
    if (!ownNetworks.some(network => overlaps(network, subnet))) return subnet;
  }
}

function networksOfMachine() {
  const interfaces = Object.values(networkInterfaces()).flatMap(all => all ?? []);
  return interfaces.flatMap(({ family, cidr }) => (family === 'IPv4' && cidr ? [cidr] : []));
}

function overlaps(one: string, other: string) {
  const [first, second] = [parse(one), parse(other)];
  const size = Math.max(first.size, second.size);
  return Math.floor(first.address / size) === Math.floor(second.address / size);
}

/** Returns address and network size as numbers. At most 256, as a larger network could cover all subnets of a kind. */
function parse(cidr: string) {
  const [address = '', bits] = cidr.split('/');
  return {
    address: address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0),
    size: Math.min(2 ** (32 - Number(bits)), 256),
  };
}
