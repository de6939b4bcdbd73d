import type { ServerConfig } from '#config';
import type { DockerTarget, ImagePruning } from '#runtimes';
import { withoutSecretFaults } from '#servers';
import { packageOf } from './outdated.ts';

/** The images that the hub builds of its own folders. They are always needed. */
const ownImages: readonly DockerTarget['image'][] = [
  { context: 'agent' },
  { context: 'git' },
  { context: 'ollama-mcp' },
];

type Needs = {
  readonly images: ImagePruning;
  /** The target of a config. Throws HubError if it cannot be launched. */
  readonly specOf: (config: ServerConfig) => {
    readonly target: { readonly kind: string } | DockerTarget;
  };
};

/** Removes the images of this hub that none of the configs needs. Rejects with HubError if there is no engine. */
export async function pruneImages(
  configs: readonly ServerConfig[],
  { isDry }: { readonly isDry: boolean },
  { images, specOf }: Needs,
) {
  const needed = configs.flatMap(config => imageOf(config, specOf));
  return await images.prune([...ownImages, ...needed], { isDry });
}

function imageOf(config: ServerConfig, specOf: Needs['specOf']): readonly DockerTarget['image'][] {
  try {
    // A server that lacks a secret needs its image later.
    const { target } = specOf(withoutSecretFaults(config));
    if ('image' in target) return [target.image];
  } catch {
    // So does one that cannot be launched now for another reason.
  }
  const source = packageOf(config);
  return source ? [{ package: source }] : [];
}
