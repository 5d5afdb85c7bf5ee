"""The keyring of the operating system, by the library ``keyring``, which is loaded when it is first used."""

from typing import Protocol

SERVICE = "plimsoll"
"""What entries are filed under."""


class KeyringTrouble(Exception):
    """The keyring cannot be used; the text is a sentence for a person and holds no key."""


class Keyring(Protocol):
    """Where keys are kept between runs. Calls may block, for example until a person has unlocked it."""

    def read(self, name: str) -> str | None:
        """The key of that name; None when there is none."""
        ...

    def write(self, name: str, key: str) -> None:
        """Keep a key."""
        ...

    def erase(self, name: str) -> None:
        """Forget a key; one that is not there is no trouble."""
        ...


class SystemKeyring:
    """Keychain, Credential Locker, Secret Service or KWallet, whichever this machine has."""

    def read(self, name: str) -> str | None:
        """The key of that name; None when there is none.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring

        try:
            return keyring.get_password(SERVICE, name)
        except Exception as error:  # a backend raises whatever its service does
            raise _trouble(error, name) from None

    def write(self, name: str, key: str) -> None:
        """Keep a key.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring

        try:
            keyring.set_password(SERVICE, name, key)
        except Exception as error:  # a backend raises whatever its service does
            raise _trouble(error, name) from None

    def erase(self, name: str) -> None:
        """Forget a key; one that is not there is no trouble.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring
        from keyring.errors import PasswordDeleteError

        try:
            keyring.delete_password(SERVICE, name)
        except PasswordDeleteError:
            return
        except Exception as error:  # a backend raises whatever its service does
            raise _trouble(error, name) from None


def _trouble(error: Exception, name: str) -> KeyringTrouble:
    """What happened and what to do; a backend's own words may say anything and are left out."""
    from keyring.errors import KeyringLocked, NoKeyringError

    otherwise = f"set {name} in the environment instead."
    match error:
        case NoKeyringError():
            return KeyringTrouble(f"This machine has no keyring that can be used: {otherwise}")
        case KeyringLocked():
            return KeyringTrouble(f"The system keyring is locked: unlock it and try again, or {otherwise}")
        case _:
            kind = type(error).__name__
            return KeyringTrouble(f"The system keyring cannot be used ({kind}): {otherwise}")
