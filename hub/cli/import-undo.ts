import type { Clients, UndoableImport } from '#clients';
import { HubError } from '#core';
import { type ClientCommandNeeds, isAgreed } from './client-change.ts';
import type { ExitCode, Io, Values } from './command.ts';
import { asJson } from './values.ts';

/** `agenthub import --undo`: restores all files that the latest import changed. */
export async function undoImport(
  clients: Clients,
  values: Values,
  { io, ...needs }: ClientCommandNeeds & { readonly io: Io },
): Promise<ExitCode> {
  const found = await clients.newestImport();
  if (!found) throw new HubError('HUB_USAGE', '--undo: there is no import that can be undone');
  const isJson = values['json'] === true;
  if (!isJson) show(found, io);
  const isWritten = await isAgreed(`Restore ${found.files.join(', ')}?`, values, needs, io);
  if (isWritten) await clients.undoImport();
  if (isJson) io.out(asJson({ ...found, undone: isWritten }));
  else
    io.out(
      isWritten ? `${io.screen.paint('green', 'restored')} all of them` : 'Nothing was written.',
    );
  return 0;
}

function show({ at, added, files }: UndoableImport, { out, screen }: Io): void {
  out(`The import of ${at} added ${screen.foreign(added.join(', ')) || 'no server'} and changed:`);
  for (const file of files) out(`  ${screen.foreign(file)}`);
}
