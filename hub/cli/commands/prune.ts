import { type Command, hubOptions } from '../command.ts';
import { isAgreed } from '../confirm.ts';
import { openHub } from '../hub-client.ts';
import { fieldsOf, objectsIn } from '../responses.ts';
import { count } from '../values.ts';

/** `agenthub prune`: removes images that no server and no rollback needs. */
export const prune: Command = {
  name: 'prune',
  summary: 'Remove the images of this hub that no server and no rollback needs.',
  options: {
    'dry-run': { help: 'Only list them.' },
    yes: { short: 'y', help: 'Remove without asking. Required without a terminal.' },
    ...hubOptions,
  },
  details: [
    'Only images that this hub built are removed, and those of network forwarders of earlier versions; never one that a container uses. An image that another hub uses as well stays for that one. Pulled images and volumes stay.',
    '--json prints the response of POST /prune: {"removed": [{"reference", "package", "bytes"}], "left": [{..., "why"}]}.',
  ],
  examples: [
    ['prune --dry-run', 'List what would be removed'],
    ['prune', 'Remove it, after a question'],
  ],
  async run(run) {
    const hub = await openHub(run);
    const ask = async (isDry: boolean) =>
      await hub.ask({ method: 'POST', path: '/prune', body: { dry_run: isDry } });
    const found = await ask(true);
    const images = objectsIn(fieldsOf(found)['removed']);
    const isDry = run.values['dry-run'] === true;
    if (run.isJson && (isDry || images.length === 0)) return run.json(found);
    if (!run.isJson)
      for (const { reference, package: spec, bytes } of images)
        run.out(
          run.screen.foreign(
            `${String(reference)}  ${megabytes(bytes)}  ${typeof spec === 'string' ? spec : ''}`.trim(),
          ),
        );
    if (images.length === 0) run.out('No image can be removed.');
    if (isDry || images.length === 0) return 0;
    if (!(await isAgreed(`Remove ${count(images.length, 'image')}?`, run))) {
      run.err('Nothing was removed.');
      return 1;
    }
    const done = fieldsOf(await ask(false));
    if (run.isJson) return run.json(done);
    run.out(`removed ${count(objectsIn(done['removed']).length, 'image')}`);
    for (const { reference, why } of objectsIn(done['left']))
      run.remark('note', run.errorScreen.foreign(`${String(reference)} stays: ${String(why)}`));
    return 0;
  },
};

const megabytes = (bytes: unknown) => `${Math.round(Number(bytes) / 1_000_000)} MB`;
