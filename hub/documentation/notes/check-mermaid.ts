/**
 * Checks a Mermaid flowchart. Returns the error, or undefined. Accepts only the syntax that the hub writes and asks
 * models for. Everything else is an error, such as `click`, which runs code or opens pages.
 */
export function faultOfMermaid(drawing: string): string | undefined {
  const lines = drawing
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !/^%%(?!\{)/.test(line));
  const [header = ''] = lines;
  if (!/^(?:flowchart|graph) (?:TB|TD|BT|LR|RL)$/.test(header))
    return 'it does not begin with "flowchart LR"';
  if (lines.length > maxLines) return `it has more than ${maxLines} lines`;
  let depth = 0;
  let nodes = 0;
  for (const [at, line] of lines.slice(1).entries()) {
    const fault = (why: string) => `line ${at + 2}: ${why}`;
    if (subgraph.test(line)) depth++;
    else if (line === 'end') {
      if (--depth < 0) return fault('"end" without "subgraph"');
    } else if (!direction.test(line)) {
      const found = statement.exec(line);
      if (!found) return fault(`cannot be read: ${line.slice(0, 60)}`);
      if (keywords.test(line)) return fault('a node has the name of a keyword');
      nodes++;
    }
  }
  if (depth > 0) return '"subgraph" without "end"';
  return nodes === 0 ? 'it has no nodes' : undefined;
}

const maxLines = 400;
const id = String.raw`[A-Za-z][A-Za-z0-9_]{0,40}`;
const label = String.raw`"[^"\n\x60<>]{1,200}"`;
const bare = String.raw`[\p{L}\p{N} .,_/:'&+*-]{1,80}`;
const text = `(?:${label}|${bare})`;
const node = String.raw`${id}(?:\[${text}\]|\(${text}\)|\(\[${text}\]\)|\[\(${text}\)\]|\{${text}\})?`;
const arrow = String.raw`(?:-->|---|-\.->|==>)(?:\|${text}\|)?`;
const subgraph = new RegExp(String.raw`^subgraph (?:${id}(?:\[${text}\])?|${label})$`, 'u');
const direction = /^direction (?:TB|TD|BT|LR|RL)$/;
const statement = new RegExp(String.raw`^${node}(?: *${arrow} *${node}){0,20};?$`, 'u');
/** Keywords of Mermaid, which must not be used as the name of a node. */
const keywords =
  /(?:^|[>|] *)(?:end|graph|subgraph|flowchart|click|style|linkStyle|class|classDef|default|call|href)\b/;
