/**
 * Hub with one server, which a test kills. It launches its arguments as a server, and writes the facts about its
 * process as JSON.
 */
import { record } from '../../contracts/recorder.ts';
import { launchProcess } from './launch.ts';

const [command = '', ...args] = process.argv.slice(2);
const instance = await launchProcess({ target: { command, args } });
await record(instance.channel).notifications('up', 1);
process.stdout.write(`${JSON.stringify(instance.about)}\n`);
setInterval(() => {}, 60_000);
