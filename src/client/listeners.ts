/** Registers listeners by the name of an event; a listener that throws has no effect on the others. */
export function createListeners<Events>(): [
  on: <Name extends keyof Events>(name: Name, listener: (value: Events[Name]) => void) => () => void,
  emit: <Name extends keyof Events>(name: Name, value: Events[Name]) => void,
] {
  const listeners: { [Name in keyof Events]?: Set<(value: Events[Name]) => void> } = {}
  return [
    (name, listener) => {
      const added = (listeners[name] ??= new Set())
      added.add(listener)
      return () => void added.delete(listener)
    },
    (name, value) => {
      // A copy: who listens from now on hears the next event.
      for (const listener of [...(listeners[name] ?? [])]) {
        try {
          listener(value)
        } catch (error) {
          console.error(error)
        }
      }
    },
  ]
}
