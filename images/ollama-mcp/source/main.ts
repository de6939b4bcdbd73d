import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { ModelSource } from './models-types.ts';
import { createOwnModels } from './own-models.ts';
import { createServer } from './server.ts';
import { readSettings } from './settings.ts';

function settingsOrExit() {
  try {
    return readSettings(process.env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

const settings = settingsOrExit();
let models: ModelSource | undefined;
const own = () => (models ??= createOwnModels(settings));

const handle = serveStdio(() => createServer({ settings, own }));
const end = () => process.exit(0);
process.on('SIGTERM', end);
process.on('SIGINT', end);
process.stdin.on('end', () => void handle.close().finally(end));
