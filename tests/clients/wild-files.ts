/** Client file with unusual formatting or content, as people and programs write it. */
type Wild = {
  readonly what: string;
  readonly text: string;
};

const secret = 'sk-planted0123456789';

/** Returns unusual JSON files. `group` is the key under which the client keeps its servers. */
export const wildJson = (group: string): readonly Wild[] => [
  { what: 'nothing in it', text: '' },
  { what: 'white space only', text: ' \n\n' },
  { what: 'a byte order mark only', text: '\uFEFF' },
  { what: 'an empty object', text: '{}' },
  { what: 'an empty object on lines', text: '{\n}\n' },
  { what: 'an empty group', text: `{"${group}": {}}` },
  { what: 'a group with a comment only', text: `{\n  "${group}": {\n    // none yet\n  }\n}\n` },
  { what: 'other keys only', text: '{\n  "theme": "dark",\n  "numbers": [1, 2.0, 1e3]\n}\n' },
  { what: 'a comment before and after', text: `// first\n{ "a": 1 } // last\n/* the end */` },
  {
    what: 'other servers, comments, trailing commas and CRLF',
    text: `{\r\n\t// mine\r\n\t"${group}": {\r\n\t\t"one": {"command": "npx", "env": {"KEY": "${secret}"}}, // tail\r\n\t\t/* two */ "two": {\r\n\t\t\t"url": "http://localhost:1/mcp",\r\n\t\t},\r\n\t},\r\n}\r\n`,
  },
  {
    what: 'a byte order mark, four spaces, and no line break at the end',
    text: `\uFEFF{\n    "${group}": {\n        "one": { "command": "a" }\n    },\n    "last": true\n}`,
  },
  {
    what: 'one line',
    text: `{"x":1,"${group}":{"one":{"command":"a","args":["${secret}"]}},"y":2}`,
  },
  {
    what: 'keys and values that are not ASCII',
    text: `{"ключ": "значение 🎉\\u0041", "${group}": {"ö": {}}}`,
  },
  {
    what: 'a comment between key and value',
    text: `{"${group}" /* here */ : /* and here */ {"one": {} /* end */ } }`,
  },
  { what: 'keys that stand twice elsewhere', text: `{"a": 1, "a": 2, "${group}": {"one": {}}}` },
  {
    what: 'a dangerous key',
    text: `{"__proto__": {"x": 1}, "constructor": 1, "${group}": {"toString": {}}}`,
  },
  {
    what: 'lines as long as a history',
    text: `{\n  "history": ["${'x'.repeat(100_000)}"],\n  "${group}": {"one": {}}\n}\n`,
  },
];

/** Unusual TOML files. */
export const wildToml: readonly Wild[] = [
  { what: 'nothing in it', text: '' },
  { what: 'a comment only', text: '# nothing yet' },
  {
    what: 'keys without a table',
    text: 'model = "gpt"\nnumber = 0x1F\nlarge = 9007199254740993\n',
  },
  { what: 'no line break at the end', text: '[tui]\ntheme = "dark"' },
  {
    what: 'other servers, comments and CRLF',
    text: `# mine\r\nmodel = "o4" # tail\r\n\r\n[mcp_servers.one]\r\ncommand = "npx"\r\nargs = [ "-y",\r\n  "x", # why\r\n]\r\n\r\n[mcp_servers.one.env]\r\nKEY = "${secret}"\r\n\r\n# the end\r\n`,
  },
  { what: 'a byte order mark', text: '\uFEFFmodel = "o4"\n' },
  {
    what: 'strings that look like tables',
    text: `a = """\n[mcp_servers.agenthub]\nurl = "x"\n"""\nb = '''\n[mcp_servers.agenthub]'''\nc = "[mcp_servers.agenthub] # \\" "\n`,
  },
  {
    what: 'quoted and dotted keys',
    text: `"mcp_servers"."we.ird".command = "a"\nmcp_servers.'two'.command = "b" # [mcp_servers.agenthub]\n`,
  },
  {
    what: 'a group that is a table',
    text: '[mcp_servers]\none = { command = "a" }\n\n[other]\nx = 1979-05-27T07:32:00Z\n',
  },
  {
    what: 'lists of tables',
    text: '[[profiles]]\nname = "a"\n[[profiles]]\nname = "b"\n\n[projects."/home/me"]\ntrust = true\n',
  },
  {
    what: 'a table in the middle',
    text: '[a]\nx = 1\n\n\n\n[mcp_servers.two]\nurl = "http://x"\n\n[b]\ny = [\n  { z = 1 },\n]\n',
  },
];
