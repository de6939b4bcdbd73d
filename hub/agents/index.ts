// Exports are added with their first importer outside the room (tests/house/names.test.ts).
export {};
