"""Autoencoders, adversarial nets and style transfer as projects write them by hand; for the recipe book."""
from __future__ import annotations

from typing import List, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Autoencoder(nn.Module):
    """Linear layers in `encoder` and `decoder`."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4))
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 48),
                                     nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


class ConvAutoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
                                     nn.Conv2d(16, 24, 3, 2, 1))
        self.decoder = nn.Sequential(nn.ConvTranspose2d(24, 16, 3, 2, 1, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(8, 3, 3, 2, 1, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


class Vae(nn.Module):
    """fc1, two heads for mean and variance, fc3, fc4."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(48, 32), nn.Linear(32, 8), nn.Linear(32, 8)
        self.fc3, self.fc4 = nn.Linear(8, 32), nn.Linear(32, 48)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        hidden = functional.relu(self.fc1(x))
        mu, logvar = self.fc21(hidden), self.fc22(hidden)
        z = mu + torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(functional.relu(self.fc3(z)))), mu, logvar


class ConvVae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(),
                                     nn.Conv2d(8, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.LeakyReLU())
        self.fc_mu, self.fc_var = nn.Linear(16 * 64, 8), nn.Linear(16 * 64, 8)
        self.decoder_input = nn.Linear(8, 16 * 64)
        self.decoder = nn.Sequential(nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU(),
                                     nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.LeakyReLU())
        self.final_layer = nn.Sequential(nn.Conv2d(8, 3, 3, padding=1), nn.Tanh())

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        hidden = torch.flatten(self.encoder(x), start_dim=1)
        mu, var = self.fc_mu(hidden), self.fc_var(hidden)
        out = self.decoder_input(mu + torch.exp(0.5 * var)).view(-1, 16, 8, 8)
        return self.final_layer(self.decoder(out)), mu, var


class Generator(nn.Module):
    """Of the DCGAN kind: one Sequential called main."""

    def __init__(self) -> None:
        super().__init__()
        layers: List[nn.Module] = []
        for i, (wide, out) in enumerate(((16, 32), (32, 24), (24, 16), (16, 8))):
            layers += [nn.ConvTranspose2d(wide, out, 4, 2 if i else 1, 1 if i else 0, bias=False), nn.BatchNorm2d(out),
                       nn.ReLU(True)]
        self.main = nn.Sequential(*layers, nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, input: Tensor) -> Tensor:
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: List[nn.Module] = [nn.Conv2d(3, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
        for wide, out in ((8, 16), (16, 24), (24, 32)):
            layers += [nn.Conv2d(wide, out, 4, 2, 1, bias=False), nn.BatchNorm2d(out), nn.LeakyReLU(0.2, inplace=True)]
        self.main = nn.Sequential(*layers, nn.Conv2d(32, 1, 4, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, input: Tensor) -> Tensor:
        return self.main(input)


class MlpGenerator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: List[nn.Module] = [nn.Linear(16, 24), nn.LeakyReLU(0.2, inplace=True)]
        for wide, out in ((24, 32), (32, 40)):
            layers += [nn.Linear(wide, out), nn.BatchNorm1d(out, 0.8), nn.LeakyReLU(0.2, inplace=True)]
        self.model = nn.Sequential(*layers, nn.Linear(40, 48), nn.Tanh())

    def forward(self, z: Tensor) -> Tensor:
        return self.model(z).view(z.size(0), 3, 4, 4)


class StyleConv(nn.Module):
    def __init__(self, wide: int, out: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.reflection_pad = nn.ReflectionPad2d(kernel // 2)
        self.conv2d = nn.Conv2d(wide, out, kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2d(self.reflection_pad(x))


class StyleResidual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.in1 = StyleConv(width, width, 3, 1), nn.InstanceNorm2d(width, affine=True)
        self.conv2, self.in2 = StyleConv(width, width, 3, 1), nn.InstanceNorm2d(width, affine=True)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.in2(self.conv2(self.relu(self.in1(self.conv1(x))))) + x


class StyleNet(nn.Module):
    """Fast style transfer: down, residual blocks, up."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.in1 = StyleConv(3, 8, 9, 1), nn.InstanceNorm2d(8, affine=True)
        self.conv2, self.in2 = StyleConv(8, 16, 3, 2), nn.InstanceNorm2d(16, affine=True)
        self.res1, self.res2, self.res3 = StyleResidual(16), StyleResidual(16), StyleResidual(16)
        self.deconv1, self.in3 = StyleConv(16, 8, 3, 1), nn.InstanceNorm2d(8, affine=True)
        self.deconv2 = StyleConv(8, 3, 9, 1)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.in1(self.conv1(x)))
        y = self.relu(self.in2(self.conv2(y)))
        y = self.res3(self.res2(self.res1(y)))
        y = functional.interpolate(y, mode="nearest", scale_factor=2)
        return self.deconv2(self.relu(self.in3(self.deconv1(y))))


class TranslationBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv_block = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width), nn.ReLU(True),
            nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv_block(x)


class ImageTranslator(nn.Module):
    """The generator of unpaired image translation: one Sequential with residual blocks inside."""

    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(
            nn.ReflectionPad2d(3), nn.Conv2d(3, 8, 7), nn.InstanceNorm2d(8), nn.ReLU(True),
            nn.Conv2d(8, 16, 3, 2, 1), nn.InstanceNorm2d(16), nn.ReLU(True),
            TranslationBlock(16), TranslationBlock(16), TranslationBlock(16),
            nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.InstanceNorm2d(8), nn.ReLU(True),
            nn.ReflectionPad2d(3), nn.Conv2d(8, 3, 7), nn.Tanh())

    def forward(self, input: Tensor) -> Tensor:
        return self.model(input)
