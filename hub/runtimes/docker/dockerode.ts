import { Module, createRequire } from 'node:module';
import type Dockerode from 'dockerode';

/**
 * What dockerode loads and the hub has no use for: sessions of BuildKit (gRPC) and engines over ssh (ssh2,
 * with a cipher in WebAssembly that takes 16 MB of address space). Two thirds of what dockerode costs.
 */
const unused = ['./session', 'docker-modem/lib/ssh'];

/** dockerode without what is unused, which throws if it is called after all (decisions/0007). */
export async function loadDockerode(): Promise<typeof Dockerode> {
  const { cache, resolve } = createRequire(createRequire(import.meta.url).resolve('dockerode'));
  for (const part of unused) {
    const path = resolve(part);
    const left = new Module(path);
    left.loaded = true;
    left.exports = () => {
      throw new Error(`${part} of dockerode is not loaded in the hub`);
    };
    cache[path] ??= left;
  }
  return (await import('dockerode')).default;
}
