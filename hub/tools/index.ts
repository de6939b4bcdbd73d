export { type ToolStates, type ToolSwitches, createToolSwitches } from './switches.ts';
