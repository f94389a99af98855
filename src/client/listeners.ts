/** Registers listeners by the name of an event; a listener that throws has no effect on the others. */
export function createListeners<Events>(): [
  on: <Name extends keyof Events>(name: Name, listener: (value: Events[Name]) => void) => () => void,
  emit: <Name extends keyof Events>(name: Name, value: Events[Name]) => void,
] {
  // Lists that are replaced and never changed: who listens from now on hears the next event.
  const listeners: { [Name in keyof Events]?: ((value: Events[Name]) => void)[] } = {}
  return [
    (name, listener) => {
      listeners[name] = [...(listeners[name] ?? []), listener]
      return () => {
        listeners[name] = listeners[name]?.filter((other) => other !== listener) ?? []
      }
    },
    (name, value) => {
      for (const listener of listeners[name] ?? []) {
        try {
          listener(value)
        } catch (error) {
          console.error(error)
        }
      }
    },
  ]
}
