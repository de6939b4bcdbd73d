import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';

/** The public ones are of the three blocks for documentation (RFC 5737). */
const randomSubnets = {
  public: () => `${documentationBlocks[randomInt(3)]}.${randomInt(16) * 16}/28`,
  private: () => `10.214.${randomInt(256)}.0/28`,
  linkLocal: () => `169.254.${randomInt(1, 255)}.0/28`,
};
const documentationBlocks = ['192.0.2', '198.51.100', '203.0.113'];

export type SubnetKind = keyof typeof randomSubnets;

/**
 * A subnet by chance that overlaps no network of this machine, given in CIDR notation. The engine does not refuse such
 * a subnet, and the machine then answers in the place of a container, or loses its own gateway.
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

/** The address as a number, and the size of its network. Of one that may fill a whole kind, the part around the address. */
function parse(cidr: string) {
  const [address = '', bits] = cidr.split('/');
  return {
    address: address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0),
    size: Math.min(2 ** (32 - Number(bits)), 256),
  };
}
