import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HubProcess } from '#helpers/hub-process';
import { connectAs } from './scene.ts';

/** Creates a folder for the filesystem server, and returns entries of published servers that need no accounts. */
export async function publishedServers() {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-healthy-'));
  const notes = join(folder, 'notes');
  await mkdir(notes);
  // The server runs as another user.
  for (const path of [folder, notes]) await chmod(path, 0o755);
  for (const name of ['plan.md', 'review.md', 'ideas.md'])
    await writeFile(join(notes, name), `# ${name}\n\n${'A line of notes.\n'.repeat(40)}`);
  const official = (name: string) => `@modelcontextprotocol/server-${name}@2026.8.31`;
  return {
    servers: {
      memory: { package: official('memory'), auto_start: true },
      'sequential-thinking': { package: official('sequential-thinking'), auto_start: true },
      filesystem: {
        package: official('filesystem'),
        args: ['/notes'],
        mounts: [{ source: notes, target: '/notes' }],
        auto_start: true,
      },
      everything: { package: official('everything'), auto_start: true },
    },
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true }),
  };
}

/** Calls tools as three clients, `rounds` times. All calls succeed. */
export async function usePublished(hub: Pick<HubProcess, 'url'>, rounds: number): Promise<void> {
  await using claude = await connectAs(hub, 'claude-code', '2.1.0');
  await using cursor = await connectAs(hub, 'cursor', '1.9.2');
  await using codex = await connectAs(hub, 'codex-mcp-client', '0.169.0');
  for (let round = 1; round <= rounds; round++) {
    await claude.call('filesystem_read_text_file', { path: '/notes/plan.md' });
    await claude.call('memory_search_nodes', { query: 'release' });
    await cursor.call('filesystem_list_directory', { path: '/notes' });
    await cursor.call('sequential-thinking_sequentialthinking', {
      thought: `Step ${round}`,
      thoughtNumber: round,
      totalThoughts: rounds,
      nextThoughtNeeded: round < rounds,
    });
    if (round % 2 === 0) await codex.call('everything_get-sum', { a: round, b: 2 });
    if (round % 4 === 0)
      await claude.call('memory_create_entities', {
        entities: [{ name: `note ${round}`, entityType: 'note', observations: ['a release'] }],
      });
  }
}
