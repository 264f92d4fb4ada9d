// A file, which no code reads.
interface Api {
  export: never;
}

// What `early.js` leaves for the modules.
interface Window {
  early: Map<string, Promise<any>>;
}
