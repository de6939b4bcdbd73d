// Program at the other end of a channel that executes the commands in its messages (tests/contracts/obedient.ts).
import { obey } from '../../contracts/obedient.ts';

let rest = '';
let reads = 0;
const say = (text: string) => void process.stdout.write(`${text}\n`);

process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  reads++;
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) {
    const answer = obey(line, {
      say,
      reads: () => reads,
      die: () => process.exit(3),
      deafen() {
        process.stdin.pause();
        setInterval(() => {}, 60_000);
      },
    });
    if (answer !== undefined)
      process.stdout.write(`${answer}\n`, () => process.stderr.write('answered\n'));
  }
});
