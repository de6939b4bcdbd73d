/** A hub of one server, to be killed: it launches its arguments, and says the number of the server. */
import { record } from '../../contracts/recorder.ts';
import { launchProcess } from './launch.ts';

const [command = '', ...args] = process.argv.slice(2);
const instance = await launchProcess({ target: { command, args } });
await record(instance.channel).notifications('up', 1);
process.stdout.write(`${JSON.stringify(instance.about)}\n`);
setInterval(() => {}, 60_000);
