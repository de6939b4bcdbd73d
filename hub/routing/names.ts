import { createHash } from 'node:crypto';
import type { Naming } from '#config';

/** Something that wants a public name: `server` offers it under `name`. */
export type Wish = { readonly server: string; readonly name: string };

/** A name that another server, earlier in the config, already has; it got `publicName` instead. */
export type Collision = Wish & { readonly wanted: string; readonly publicName: string };

const hashLength = 7;

/**
 * The public name of a tool or prompt (spec 5.2): `<server><separator><name>`, within the characters
 * that every client and model API takes, cut to `maxLength` characters with a stable hash at the end.
 */
export function publicNameOf(wish: Wish, naming: Naming): string {
  const whole = `${wish.server}${naming.separator}${wish.name}`;
  const allowed = whole.replace(naming.separator === '.' ? /[^\w.-]/g : /[^\w-]/g, '_');
  // A name in which characters were replaced could equal that of a neighbour: the hash keeps them apart.
  return allowed === whole && whole.length <= naming.maxLength
    ? whole
    : withHash(allowed, wish, naming);
}

/** Names all wishes. The first to want a name has it, the others get one that ends in their hash. */
export function assignNames(
  wishes: readonly Wish[],
  naming: Naming,
): {
  readonly names: readonly string[];
  readonly collisions: readonly Collision[];
} {
  const taken = new Set<string>();
  const collisions: Collision[] = [];
  const names = wishes.map(wish => {
    const wanted = publicNameOf(wish, naming);
    let publicName = wanted;
    // A server may also list a name twice, or one that looks like the hashed name of another.
    for (let again = 0; taken.has(publicName); again++)
      publicName = withHash(wanted, wish, naming, again);
    if (publicName !== wanted) collisions.push({ ...wish, wanted, publicName });
    taken.add(publicName);
    return publicName;
  });
  return { names, collisions };
}

function withHash(name: string, wish: Wish, naming: Naming, again = 0): string {
  const hash = createHash('sha256')
    .update(`${wish.server}\0${wish.name}${again === 0 ? '' : `\0${again}`}`)
    .digest('hex')
    .slice(0, hashLength);
  return `${name.slice(0, naming.maxLength - hashLength - 1)}_${hash}`;
}
